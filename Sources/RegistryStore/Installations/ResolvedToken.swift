import Foundation
import RegistryCore

/// A deliverable token of an installation.
package struct ResolvedToken: Sendable, Hashable {
    package let kind: TokenKind
    package let token: PushToken
    package let installation: InstallationHash
    package let attributesType: UTF8Text?
    package let observedAt: Date
    package let confirmedAt: Date
    /// The metadata of the installation, if the caller requested it.
    package var installationMetadata: Metadata?

    package func encode(to json: inout JSONWriter, in app: BundleID) {
        json.object { json in
            json.hex("token", token.bytes)
            json.hex("installation", installation.bytes)
            json.member("attributesType", ifPresent: attributesType)
            json.member("observedAt", observedAt)
            json.member("confirmedAt", confirmedAt)
            json.member("topic", kind.topic(of: app))
            json.member("pushType", kind.pushType)
            json.raw("installationMetadata", ifPresent: installationMetadata?.canonicalJSON)
        }
    }
}
