import Foundation
import RegistryCore

package struct InstallationResult: Sendable, Hashable {
    package let installation: InstallationHash
    package let isNew: Bool
    package let observedAt: Date
    /// Later than `observedAt` if a newer request set the aliases.
    package var aliasesObservedAt: Date?
    package var metadataObservedAt: Date?
}

extension InstallationResult: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.hex("installation", installation.bytes)
        json.member("observedAt", observedAt)
        json.member("aliasesObservedAt", ifPresent: aliasesObservedAt)
        json.member("metadataObservedAt", ifPresent: metadataObservedAt)
    }
}
