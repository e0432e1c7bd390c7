import Foundation
import RegistryCore

/// All stored data of one installation. Tokens appear as fingerprints.
package struct InstallationRecord: Sendable, Hashable {
    package struct Token: Sendable, Hashable {
        package let kind: String
        package let attributesType: UTF8Text?
        package let fingerprint: [UInt8]
        package let observedAt: Date
        package let confirmedAt: Date
        /// Why it is not deliverable: `kind-conflict`, `taken-over`, `unregistered`, `quarantined`. Nil if it is.
        package let reason: String?
    }

    package let installation: InstallationHash
    /// The server's clock at the last request about it.
    package let touchedAt: Date
    package var subject: UTF8Text?
    /// Stored JSON, `{"kind": ["value", …]}`.
    package var aliases: [UInt8]?
    /// The client's time for the current aliases.
    package var aliasesObservedAt: Date?
    package var metadata: [UInt8]?
    package var metadataObservedAt: Date?
    /// The latest time of its full states and log-outs.
    package var fullStateAt: Date?
    package var loggedOutAt: Date?
    /// All start, device and widget tokens except deleted tokens, whether or not they are deliverable.
    package var tokens: [Token] = []
}

extension InstallationRecord: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.hex("installation", installation.bytes)
        json.member("subject", ifPresent: subject)
        json.raw("aliases", ifPresent: aliases)
        json.member("aliasesObservedAt", ifPresent: aliasesObservedAt)
        json.raw("metadata", ifPresent: metadata)
        json.member("metadataObservedAt", ifPresent: metadataObservedAt)
        json.member("fullStateAt", ifPresent: fullStateAt)
        json.member("loggedOutAt", ifPresent: loggedOutAt)
        json.member("touchedAt", touchedAt)
        json.member("tokens", tokens)
    }
}

extension InstallationRecord.Token: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("kind", kind)
        json.member("attributesType", ifPresent: attributesType)
        json.hex("fingerprint", fingerprint)
        json.member("observedAt", observedAt)
        json.member("confirmedAt", confirmedAt)
        json.member("reason", ifPresent: reason)
    }
}
