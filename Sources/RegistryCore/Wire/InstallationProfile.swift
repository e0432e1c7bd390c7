import Foundation

/// The names that find an installation's start, device and widget tokens.
package struct InstallationProfile: Sendable, Hashable {
    package var aliases: AliasSet?
    package var metadata: Metadata?
    /// The device's clock. Nil means the time of receipt.
    package var observedAt: Date?

    /// Nil leaves the stored aliases or metadata unchanged.
    package init(aliases: AliasSet? = nil, metadata: Metadata? = nil, observedAt: Date? = nil) {
        self.aliases = aliases
        self.metadata = metadata
        self.observedAt = observedAt
    }

    package init(from json: inout JSONReader) {
        aliases = json.optionalNested("aliases") { AliasSet.read(&$0) }
        metadata = json.optional("metadata", Metadata.init(_:))
        observedAt = json.optionalTimestamp("observedAt")
    }
}

package struct InstallationResult: Sendable, Hashable {
    package let installation: InstallationHash
    package let isNew: Bool
    package let observedAt: Date
    /// Later than `observedAt` if a newer request set the aliases.
    package var aliasesObservedAt: Date?
    package var metadataObservedAt: Date?

    package init(installation: InstallationHash, isNew: Bool, observedAt: Date) {
        self.installation = installation
        self.isNew = isNew
        self.observedAt = observedAt
    }
}

extension InstallationResult: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.hex("installation", installation.bytes)
            json.member("observedAt", observedAt)
            json.member("aliasesObservedAt", ifPresent: aliasesObservedAt)
            json.member("metadataObservedAt", ifPresent: metadataObservedAt)
        }
    }
}
