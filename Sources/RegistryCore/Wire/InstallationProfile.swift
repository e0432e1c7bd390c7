import Foundation

/// The profile by which an installation's start and device tokens are found, as a client states it.
package struct InstallationProfile: Sendable, Hashable {
    /// Replaces all aliases when given.
    package var aliases: AliasSet?
    /// Replaces all metadata when given.
    package var metadata: Metadata?
    /// The device's clock; nil counts as the time of receipt.
    package var observedAt: Date?

    /// Makes a profile; aliases and metadata that are nil stay as they are stored.
    package init(aliases: AliasSet? = nil, metadata: Metadata? = nil, observedAt: Date? = nil) {
        self.aliases = aliases
        self.metadata = metadata
        self.observedAt = observedAt
    }

    /// Reads `{aliases, metadata, observedAt}`, and leaves its faults in the reader: with any, this must not be used.
    package init(from json: inout JSONReader) {
        aliases = json.optionalNested("aliases") { AliasSet.read(&$0) }
        metadata = json.optional("metadata", Metadata.init(_:))
        observedAt = json.optionalTimestamp("observedAt")
    }
}

/// The answer to an installation's profile: what counts now, by times alone.
package struct InstallationAnswer: Sendable, Hashable {
    /// The hash under which the installation is stored.
    package let installation: InstallationHash
    /// Nothing was known of it before.
    package let isNew: Bool
    /// The time that this request counted as of.
    package let observedAt: Date
    /// When the aliases that hold were given; later than `observedAt` when other ones do.
    package var aliasesObservedAt: Date?
    /// When the metadata that holds was given.
    package var metadataObservedAt: Date?

    /// Makes an answer without the times of aliases and metadata.
    package init(installation: InstallationHash, isNew: Bool, observedAt: Date) {
        self.installation = installation
        self.isNew = isNew
        self.observedAt = observedAt
    }
}

extension InstallationAnswer: JSONEncodable {
    /// Writes `{installation, observedAt, aliasesObservedAt, metadataObservedAt}`.
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.hex("installation", installation.bytes)
            json.member("observedAt", observedAt)
            json.member("aliasesObservedAt", ifPresent: aliasesObservedAt)
            json.member("metadataObservedAt", ifPresent: metadataObservedAt)
        }
    }
}
