import Foundation

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

        package init(
            kind: String,
            attributesType: UTF8Text?,
            fingerprint: [UInt8],
            observedAt: Date,
            confirmedAt: Date,
            reason: String?
        ) {
            self.kind = kind
            self.attributesType = attributesType
            self.fingerprint = fingerprint
            self.observedAt = observedAt
            self.confirmedAt = confirmedAt
            self.reason = reason
        }
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

    package init(
        installation: InstallationHash,
        touchedAt: Date,
        subject: UTF8Text? = nil,
        aliases: [UInt8]? = nil,
        aliasesObservedAt: Date? = nil,
        metadata: [UInt8]? = nil,
        metadataObservedAt: Date? = nil,
        fullStateAt: Date? = nil,
        loggedOutAt: Date? = nil,
        tokens: [Token] = []
    ) {
        self.installation = installation
        self.touchedAt = touchedAt
        self.subject = subject
        self.aliases = aliases
        self.aliasesObservedAt = aliasesObservedAt
        self.metadata = metadata
        self.metadataObservedAt = metadataObservedAt
        self.fullStateAt = fullStateAt
        self.loggedOutAt = loggedOutAt
        self.tokens = tokens
    }
}

extension InstallationRecord: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { json in
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
}

extension InstallationRecord.Token: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("kind", kind)
            json.member("attributesType", ifPresent: attributesType)
            json.hex("fingerprint", fingerprint)
            json.member("observedAt", observedAt)
            json.member("confirmedAt", confirmedAt)
            json.member("reason", ifPresent: reason)
        }
    }
}

extension JSONWriter {
    mutating func raw(_ name: String, ifPresent json: [UInt8]?) {
        guard let json else { return }
        key(name)
        raw(json)
    }
}
