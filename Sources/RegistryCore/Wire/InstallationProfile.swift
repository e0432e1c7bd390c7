import Foundation

/// The profile by which an installation's start and device tokens are found, as a client states it.
package struct InstallationProfile: Sendable, Hashable {
    package var aliases: AliasSet?
    package var metadata: Metadata?
    /// The device's clock; nil counts as the time of receipt.
    package var observedAt: Date?

    /// Nil aliases and metadata stay as they are stored.
    package init(aliases: AliasSet? = nil, metadata: Metadata? = nil, observedAt: Date? = nil) {
        self.aliases = aliases
        self.metadata = metadata
        self.observedAt = observedAt
    }

    /// Leaves faults in the reader: if there are any, this must not be used.
    package init(from json: inout JSONReader) {
        aliases = json.optionalNested("aliases") { AliasSet.read(&$0) }
        metadata = json.optional("metadata", Metadata.init(_:))
        observedAt = json.optionalTimestamp("observedAt")
    }
}

package struct InstallationResult: Sendable, Hashable {
    package let installation: InstallationHash
    /// Nothing was known of it before.
    package let isNew: Bool
    /// The observation time of this request.
    package let observedAt: Date
    /// When the current aliases were given; later than `observedAt` if a newer request gave them.
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
