import Foundation

/// Why a token looks dead.
public enum StaleReason: String, Sendable, Hashable, CaseIterable {
    /// No client registered or refreshed it for long.
    case unconfirmed
    /// Its activity is past its lifetime, and no sweep has written that down yet.
    case expired
    /// A sender reported it, and nobody cleared it since.
    case quarantined
    /// Its installation's tokens went A, B, A: a cloned installation id.
    case flapping
}

/// Which stale tokens are meant; what is nil says nothing.
public struct StaleFilter: Sendable, Hashable {
    public var kind: TokenKind?
    public var attributesType: AttributesType?
    public var reason: StaleReason?
    /// How long a token may be unconfirmed; nil for the kind's own: 2 hours for activities, else 3 days.
    public var unconfirmedFor: Duration?

    public init() {}

    /// All kinds of tokens, in the order in which lists have them.
    public static let kinds: [TokenKind] = [.update, .start] + TokenKind.ofInstallations

    /// The kind of a name.
    ///
    /// - Throws: a sentence when there is none.
    public static func kind(_ name: String) throws(JSONFaultReason) -> TokenKind {
        if let kind = kinds.first(where: { $0.name == name }) { return kind }
        throw JSONFaultReason("must be one of \(kinds.map(\.name).joined(separator: ", "))")
    }

    /// How long a token may be unconfirmed: at least a second, at most ten years.
    ///
    /// - Throws: a sentence when it is not an ISO 8601 duration between those.
    public static func duration(_ text: String) throws(JSONFaultReason) -> Duration {
        guard let duration = ISO8601Duration.parse(text), duration >= .seconds(1), duration <= longest else {
            throw JSONFaultReason("must be an ISO 8601 duration from PT1S to P3660D, such as PT2H")
        }
        return duration
    }

    private static let longest = Duration.seconds(3660 * 86_400)

    /// How long a token of a kind may be unconfirmed.
    public func patience(with kind: TokenKind) -> Duration {
        unconfirmedFor ?? (kind.holder == .activity ? .seconds(2 * 3600) : .seconds(3 * 86_400))
    }

    /// The reasons that count for a kind.
    public func reasons(of kind: TokenKind) -> Set<StaleReason> {
        let possible: Set<StaleReason> =
            kind.holder == .activity
            ? [.unconfirmed, .expired, .quarantined] : [.unconfirmed, .quarantined, .flapping]
        return reason.map { possible.intersection([$0]) } ?? possible
    }

    /// Whether tokens of a kind may be meant.
    public func concerns(_ other: TokenKind) -> Bool {
        if let kind, kind != other { return false }
        if attributesType != nil, other.holder == .installation { return false }
        return !reasons(of: other).isEmpty
    }
}

extension StaleFilter {
    /// Reads the members of a purge's body; faults stay in the reader.
    public init(from json: inout JSONReader) {
        kind = json.optionalString("kind", Self.kind)
        attributesType = json.optionalString("attributesType", AttributesType.init)
        reason = json.optionalChoice("reason")
        unconfirmedFor = json.optionalString("unconfirmedFor", Self.duration)
    }
}

/// A token that looks dead; of its value there is the fingerprint alone.
public struct StaleToken: Sendable, Hashable {
    public let kind: TokenKind
    /// The internal number of its activity or of its own; it does not travel.
    public let number: Int64
    public let reasons: [StaleReason]
    /// The first 4 bytes of the token's SHA-256.
    public let fingerprint: [UInt8]
    public let observedAt: Date
    public let confirmedAt: Date
    /// Postgres's clock when it was looked at.
    public let now: Date
    /// Only of an activity's token.
    public var activityID: String?
    public var installation: InstallationHash?
    public var attributesType: String?
    public var expiresAt: Date?
    public var quarantinedAt: Date?
    public var quarantineReason: String?

    public init(
        kind: TokenKind,
        number: Int64,
        reasons: [StaleReason],
        fingerprint: [UInt8],
        observedAt: Date,
        confirmedAt: Date,
        now: Date
    ) {
        self.kind = kind
        self.number = number
        self.reasons = reasons
        self.fingerprint = fingerprint
        self.observedAt = observedAt
        self.confirmedAt = confirmedAt
        self.now = now
    }

    /// For how long no client has confirmed it.
    public var unconfirmedFor: Duration {
        .seconds(max(0, Int(now.timeIntervalSince(confirmedAt))))
    }

    /// Why, in one sentence.
    public func sentence(for reason: StaleReason) -> String {
        switch reason {
        case .unconfirmed: "No client registered or refreshed it for \(ISO8601Duration.format(unconfirmedFor))."
        case .expired:
            "Its activity's lifetime was over at \(expiresAt.map { RFC3339.format($0) } ?? "some time"); no sweep wrote it down yet."
        case .quarantined:
            "A sender reported \(quarantineReason ?? "it") at \(quarantinedAt.map { RFC3339.format($0) } ?? "some time")."
        case .flapping: "The values of its installation's tokens went A, B, A: two devices seem to share its id."
        }
    }
}

extension StaleToken: JSONEncodable {
    /// Writes everything that there is.
    public func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("kind", kind.name)
            json.member("activityId", ifPresent: activityID)
            if let installation { json.hex("installation", installation.bytes) }
            json.member("attributesType", ifPresent: attributesType)
            json.hex("fingerprint", fingerprint)
            json.array("reasons") { json in
                for reason in reasons {
                    json.object { json in
                        json.member("reason", reason.rawValue)
                        json.member("detail", sentence(for: reason))
                    }
                }
            }
            json.member("observedAt", observedAt)
            json.member("confirmedAt", confirmedAt)
            json.member("unconfirmedFor", unconfirmedFor)
            json.member("expiresAt", ifPresent: expiresAt)
        }
    }
}

/// How many stale tokens there are, as far as a call has looked.
public struct StaleCounts: Sendable, Hashable {
    /// Tokens of one kind with the same reason; one with two reasons counts under each.
    public struct Entry: Sendable, Hashable {
        public let kind: TokenKind
        public let reason: StaleReason
        public var count: Int

        public init(kind: TokenKind, reason: StaleReason, count: Int) {
            self.kind = kind
            self.reason = reason
            self.count = count
        }
    }

    public var total = 0
    public var entries: [Entry] = []
    /// False when there was not time to look at all: there are at least so many.
    public var isComplete = true
    /// The first of them.
    public var sample: [StaleToken] = []

    public init() {}

    /// Adds tokens of a kind that have the same reasons.
    public mutating func add(_ count: Int, of kind: TokenKind, for reasons: [StaleReason]) {
        total += count
        for reason in reasons {
            if let index = entries.firstIndex(where: { $0.kind == kind && $0.reason == reason }) {
                entries[index].count += count
            } else {
                entries.append(Entry(kind: kind, reason: reason, count: count))
            }
        }
    }
}

extension StaleCounts: JSONEncodable {
    /// Writes `{dryRun: true, matched, complete, counts, sample}`.
    public func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("dryRun", true)
            json.member("matched", total)
            json.member("complete", isComplete)
            json.array("counts") { json in
                for entry in entries {
                    json.object { json in
                        json.member("kind", entry.kind.name)
                        json.member("reason", entry.reason.rawValue)
                        json.member("count", entry.count)
                    }
                }
            }
            json.member("sample", sample)
        }
    }
}
