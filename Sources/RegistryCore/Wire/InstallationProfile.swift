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
        observedAt = json.optional("observedAt", Date.read)
    }
}
