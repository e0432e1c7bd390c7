import Foundation
import RegistryCore

/// All stored data of one installation. Tokens appear as fingerprints.
package struct InstallationRecord: Sendable, Hashable {
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
    /// All start, device and widget tokens, also deleted ones. Responses omit the latter.
    package var tokens: [AliasExplanation.Token] = []
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
        json.array("tokens") { json in
            for token in tokens where !token.isDeleted {
                json.object { json in
                    json.member("kind", token.kind)
                    json.member("attributesType", ifPresent: token.attributesType)
                    json.hex("fingerprint", ifPresent: token.fingerprint)
                    json.member("observedAt", ifPresent: token.observedAt)
                    json.member("confirmedAt", ifPresent: token.confirmedAt)
                    let availability = token.facts.availability
                    json.member("reason", ifPresent: availability == .handedOut ? nil : availability.rawValue)
                }
            }
        }
    }
}
