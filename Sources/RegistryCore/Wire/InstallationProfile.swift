import Foundation

/// The profile by which an installation's start and device tokens are found, as a client states it.
public struct InstallationProfile: Sendable, Hashable {
    /// Replaces all aliases when given.
    public var aliases: AliasSet?
    /// Replaces all metadata when given.
    public var metadata: Metadata?
    /// The device's clock; nil counts as the time of receipt.
    public var observedAt: Date?

    /// Makes a profile; aliases and metadata that are nil stay as they are stored.
    public init(aliases: AliasSet? = nil, metadata: Metadata? = nil, observedAt: Date? = nil) {
        self.aliases = aliases
        self.metadata = metadata
        self.observedAt = observedAt
    }

    /// Reads `{aliases, metadata, observedAt}`, and leaves its faults in the reader: with any, this must not be used.
    public init(from json: inout JSONReader) {
        aliases = json.optionalNested("aliases") { AliasSet.read(&$0) }
        metadata = json.optional("metadata", Metadata.init(_:))
        observedAt = json.optionalTimestamp("observedAt")
    }
}

/// The answer to an installation's profile: what counts now, by times alone.
public struct InstallationAnswer: Sendable, Hashable {
    /// The hash under which the installation is stored.
    public let installation: InstallationHash
    /// Nothing was known of it before.
    public let isNew: Bool
    /// The time that this request counted as of.
    public let observedAt: Date
    /// When the aliases that hold were given; later than `observedAt` when other ones do.
    public var aliasesObservedAt: Date?
    /// When the metadata that holds was given.
    public var metadataObservedAt: Date?

    /// Makes an answer without the times of aliases and metadata.
    public init(installation: InstallationHash, isNew: Bool, observedAt: Date) {
        self.installation = installation
        self.isNew = isNew
        self.observedAt = observedAt
    }
}

extension InstallationAnswer: JSONEncodable {
    /// Writes `{installation, observedAt, aliasesObservedAt, metadataObservedAt}`.
    public func encode(to json: inout JSONWriter) {
        json.object { json in
            json.hex("installation", installation.bytes)
            json.member("observedAt", observedAt)
            json.member("aliasesObservedAt", ifPresent: aliasesObservedAt)
            json.member("metadataObservedAt", ifPresent: metadataObservedAt)
        }
    }
}
