import Foundation

/// What an alias names, and for each why it is handed out or not. Of tokens there are fingerprints alone.
public struct AliasExplanation: Sendable, Hashable {
    /// An activity that bears the alias.
    public struct Activity: Sendable, Hashable {
        /// Its internal number, by which pages are ordered; it does not travel.
        public let number: Int64
        /// Whether a sweep or an end has closed it: pages list those after the others.
        public let isClosed: Bool
        public let activityID: ActivityID
        public let state: ActivityState
        public let facts: TokenFacts
        /// The first 4 bytes of the token's SHA-256.
        public var fingerprint: [UInt8]?
        public var installation: InstallationHash?
        public var attributesType: String?
        public var startedAt: Date
        public var observedAt: Date?
        public var confirmedAt: Date?
        public var expiresAt: Date
        /// The last push that APNs took.
        public var deliveredAt: Date?

        public init(
            number: Int64,
            isClosed: Bool,
            activityID: ActivityID,
            state: ActivityState,
            facts: TokenFacts,
            startedAt: Date,
            expiresAt: Date
        ) {
            self.number = number
            self.isClosed = isClosed
            self.activityID = activityID
            self.state = state
            self.facts = facts
            self.startedAt = startedAt
            self.expiresAt = expiresAt
        }
    }

    /// A start or device token of an installation that bears the alias.
    public struct Token: Sendable, Hashable {
        /// The name of the kind.
        public let kind: String
        public let installation: InstallationHash
        /// Only for start tokens.
        public let attributesType: String?
        public let facts: TokenFacts
        public var fingerprint: [UInt8]?
        public var observedAt: Date?
        public var confirmedAt: Date?

        public init(kind: String, installation: InstallationHash, attributesType: String?, facts: TokenFacts) {
            self.kind = kind
            self.installation = installation
            self.attributesType = attributesType
            self.facts = facts
        }
    }

    /// Something about the alias itself.
    public enum Note: Sendable, Hashable {
        /// All that was said of it up to then was erased.
        case erased(Date)
        /// Nothing bears it here.
        case unknown
        /// Nothing bears it here, but in the other environment.
        case knownElsewhere(APNSEnvironment)
    }

    public let alias: Alias
    public var notes: [Note] = []
    public var activities: [Activity] = []
    /// Those of the first installations that bear the alias.
    public var tokens: [Token] = []

    public init(alias: Alias) { self.alias = alias }
}

extension AliasExplanation.Note: JSONEncodable {
    /// A stable word.
    public var code: String {
        switch self {
        case .erased: "erased"
        case .unknown: "unknown"
        case .knownElsewhere: "other-environment"
        }
    }

    /// One sentence.
    public var sentence: String {
        switch self {
        case .erased(let time):
            "All that was said of the alias until \(RFC3339.format(time)) was erased and does not come back."
        case .unknown:
            "Nothing bears the alias in this app and environment, or its activities are past their retention."
        case .knownElsewhere(let environment):
            "Nothing bears the alias here, but something does in \(environment.rawValue): is it the right environment?"
        }
    }

    /// Writes `{code, detail}`.
    public func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("code", code)
            json.member("detail", sentence)
        }
    }
}

extension JSONWriter {
    /// Writes what a token is, and why.
    fileprivate mutating func facts(_ facts: TokenFacts, _ fingerprint: [UInt8]?) {
        member("handedOut", facts.verdict == .handedOut)
        member("reason", facts.verdict.rawValue)
        member("detail", facts.sentence)
        if let fingerprint { hex("fingerprint", fingerprint) }
    }
}

extension AliasExplanation.Activity: JSONEncodable {
    /// Writes one activity.
    public func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("activityId", activityID.rawValue)
            json.member("state", state.rawValue)
            json.facts(facts, fingerprint)
            if let installation { json.hex("installation", installation.bytes) }
            json.member("attributesType", ifPresent: attributesType)
            json.member("startedAt", startedAt)
            json.member("observedAt", ifPresent: observedAt)
            json.member("confirmedAt", ifPresent: confirmedAt)
            json.member("expiresAt", expiresAt)
            json.member("deliveredAt", ifPresent: deliveredAt)
        }
    }
}

extension AliasExplanation.Token: JSONEncodable {
    /// Writes one token.
    public func encode(to json: inout JSONWriter) {
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
