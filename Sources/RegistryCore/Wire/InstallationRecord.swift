import Foundation

/// All that is stored about one installation; its tokens appear as fingerprints.
package struct InstallationRecord: Sendable, Hashable {
    package struct Token: Sendable, Hashable {
        package let kind: String
        package let attributesType: UTF8Text?
        /// The first 4 bytes of the token's SHA-256.
        package let fingerprint: [UInt8]
        /// The device's clock when the system gave it the token; the time of receipt when the request did not say.
        package let observedAt: Date
        /// The server's clock at the last registration or refresh.
        package let confirmedAt: Date
        /// Why it is not handed out: `kind-conflict`, `taken-over`, `unregistered`, `quarantined`; nil when it is.
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
    /// When anything was last heard of it, on the server's clock.
    package let touchedAt: Date
    /// The `sub` of the signed-in user to whom it belongs; nil when it belongs to none.
    package var subject: UTF8Text?
    /// JSON as it was stored: `{"kind": ["value", …]}`.
    package var aliases: [UInt8]?
    /// When the aliases that hold were given, as the client said; nil when none were.
    package var aliasesObservedAt: Date?
    /// JSON as it was stored.
    package var metadata: [UInt8]?
    /// When the metadata that holds was given, as the client said; nil when none was.
    package var metadataObservedAt: Date?
    /// The greatest time of its full states and log-outs.
    package var fullStateAt: Date?
    package var loggedOutAt: Date?
    /// Its start and device tokens that were not deleted, whether or not they are handed out.
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
    fileprivate mutating func raw(_ name: String, ifPresent json: [UInt8]?) {
        guard let json else { return }
        key(name)
        raw(json)
    }
}
