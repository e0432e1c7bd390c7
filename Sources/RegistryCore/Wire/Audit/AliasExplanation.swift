import Foundation

/// The activities and tokens that an alias names, each with the reason why it is handed out or not. Tokens appear as
/// fingerprints.
package struct AliasExplanation: Sendable, Hashable {
    package struct Activity: Sendable, Hashable {
        /// Pages are ordered by this internal key; no answer contains it.
        package let key: Int64
        /// Whether a sweep or an end has closed it: pages list those after the others.
        package let isClosed: Bool
        package let activityID: ActivityID
        package let state: ActivityState
        package var facts: TokenFacts
        /// The first 4 bytes of the token's SHA-256.
        package var fingerprint: [UInt8]?
        package var installation: InstallationHash?
        package var attributesType: UTF8Text?
        /// When it started: the earliest time that requests gave, or the first receipt.
        package var startedAt: Date
        /// When it starts, or started, if it was scheduled for later.
        package var startsAt: Date?
        /// The device's clock at the observation of its token, or of the activity while it has none; nil when only an
        /// end is known.
        package var observedAt: Date?
        package var confirmedAt: Date?
        package var expiresAt: Date
        /// The last push that APNs took.
        package var deliveredAt: Date?

        package init(
            key: Int64,
            isClosed: Bool,
            activityID: ActivityID,
            state: ActivityState,
            facts: TokenFacts,
            fingerprint: [UInt8]? = nil,
            installation: InstallationHash? = nil,
            attributesType: UTF8Text? = nil,
            startedAt: Date,
            startsAt: Date? = nil,
            observedAt: Date? = nil,
            confirmedAt: Date? = nil,
            expiresAt: Date,
            deliveredAt: Date? = nil
        ) {
            self.key = key
            self.isClosed = isClosed
            self.activityID = activityID
            self.state = state
            self.facts = facts
            self.fingerprint = fingerprint
            self.installation = installation
            self.attributesType = attributesType
            self.startedAt = startedAt
            self.startsAt = startsAt
            self.observedAt = observedAt
            self.confirmedAt = confirmedAt
            self.expiresAt = expiresAt
            self.deliveredAt = deliveredAt
        }
    }

    package struct Token: Sendable, Hashable {
        package let kind: String
        package let installation: InstallationHash
        package let attributesType: UTF8Text?
        package let facts: TokenFacts
        /// The first 4 bytes of the token's SHA-256; nil when only a deletion is known.
        package var fingerprint: [UInt8]?
        /// The device's clock at the observation of the token; nil when only a deletion is known.
        package var observedAt: Date?
        /// The server's clock at the last registration or refresh; nil when only a deletion is known.
        package var confirmedAt: Date?

        package init(
            kind: String,
            installation: InstallationHash,
            attributesType: UTF8Text?,
            facts: TokenFacts,
            fingerprint: [UInt8]? = nil,
            observedAt: Date? = nil,
            confirmedAt: Date? = nil
        ) {
            self.kind = kind
            self.installation = installation
            self.attributesType = attributesType
            self.facts = facts
            self.fingerprint = fingerprint
            self.observedAt = observedAt
            self.confirmedAt = confirmedAt
        }
    }

    package enum Note: Sendable, Hashable {
        /// All earlier data about it was erased.
        case erased(Date)
        case unknown
        /// Nothing bears it here, but in the other environment.
        case knownElsewhere(APNSEnvironment)
        /// Nothing bears it here, but something has this value, which differs by the case of letters.
        case otherCase(UTF8Text)
    }

    package let alias: Alias
    /// Remarks about the alias; only on the first page.
    package var notes: [Note] = []
    /// The activities of the page, those that are not closed first.
    package var activities: [Activity] = []
    /// Those of the first installations that bear the alias.
    package var tokens: [Token] = []
    /// The leases of the alias, of the first installations; only on the first page.
    package var leases: [ExplainedLease] = []
    package init(alias: Alias) { self.alias = alias }
}

extension AliasExplanation.Note: JSONEncodable {
    package var code: String {
        switch self {
        case .erased: "erased"
        case .unknown: "unknown"
        case .knownElsewhere: "other-environment"
        case .otherCase: "other-case"
        }
    }

    package var sentence: String {
        switch self {
        case .erased(let time):
            "All that was said of the alias until \(RFC3339.format(time)) was erased and does not come back."
        case .unknown:
            "Nothing bears the alias in this app and environment, or its activities are past their retention."
        case .knownElsewhere(let environment):
            "Nothing bears the alias here, but something does in \(environment.rawValue): is it the right environment?"
        case .otherCase(let value):
            "Nothing bears the alias, but something bears \(value). Upper and lower case differ: use one of them everywhere."
        }
    }

    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("code", code)
            json.member("detail", sentence)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func facts(_ facts: TokenFacts, _ fingerprint: [UInt8]?) {
        member("handedOut", facts.availability == .handedOut)
        member("reason", facts.availability.rawValue)
        member("detail", facts.sentence)
        if let fingerprint { hex("fingerprint", fingerprint) }
    }
}

extension AliasExplanation.Activity: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("activityId", activityID.rawValue)
            json.member("state", state.rawValue)
            json.facts(facts, fingerprint)
            if let installation { json.hex("installation", installation.bytes) }
            json.member("attributesType", ifPresent: attributesType)
            json.member("startedAt", startedAt)
            json.member("startsAt", ifPresent: startsAt)
            json.member("observedAt", ifPresent: observedAt)
            json.member("confirmedAt", ifPresent: confirmedAt)
            json.member("expiresAt", expiresAt)
            json.member("deliveredAt", ifPresent: deliveredAt)
        }
    }
}

extension AliasExplanation.Token: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("kind", kind)
            json.hex("installation", installation.bytes)
            json.member("attributesType", ifPresent: attributesType)
            json.facts(facts, fingerprint)
            json.member("observedAt", ifPresent: observedAt)
            json.member("confirmedAt", ifPresent: confirmedAt)
        }
    }
}
