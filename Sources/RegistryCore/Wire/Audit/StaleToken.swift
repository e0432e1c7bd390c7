import Foundation

package enum StaleReason: String, Sendable, Hashable, CaseIterable {
    case unconfirmed
    /// Its activity is past its lifetime, and no sweep has written that down yet.
    case expired
    /// A sender reported it, and no client or admin cleared it since.
    case quarantined
}

/// A nil member filters nothing.
package struct StaleFilter: Sendable, Hashable {
    package var kind: TokenKind?
    /// The attributes type of the tokens; no kind without one is then meant.
    package var attributesType: AttributesType?
    /// The token may have other reasons, too.
    package var reason: StaleReason?
    /// How long a token may be unconfirmed; nil for the kind's own: 2 hours for activities, else 3 days.
    package var unconfirmedFor: Duration?
    package init() {}

    package static func kind(_ name: String) throws(JSONFaultReason) -> TokenKind {
        if let kind = TokenKind.all.first(where: { $0.name == name }) { return kind }
        throw JSONFaultReason("must be one of \(TokenKind.all.map(\.name).joined(separator: ", "))")
    }

    /// At least a second, at most ten years.
    ///
    /// - Throws: a sentence if it is not an ISO 8601 duration in this range.
    package static func duration(_ text: String) throws(JSONFaultReason) -> Duration {
        let longest = AppChanges.longestRetention
        guard let duration = ISO8601Duration.parse(text), duration >= .seconds(1), duration <= longest else {
            throw JSONFaultReason("must be an ISO 8601 duration from PT1S to P3660D, such as PT2H")
        }
        return duration
    }

    /// How long a token of a kind may be unconfirmed.
    package func staleAge(with kind: TokenKind) -> Duration {
        unconfirmedFor ?? (kind.holder == .activity ? .seconds(2 * 3600) : .seconds(3 * 86_400))
    }

    package func reasons(of kind: TokenKind) -> Set<StaleReason> {
        let possible: Set<StaleReason> =
            kind.holder == .activity ? [.unconfirmed, .expired, .quarantined] : [.unconfirmed, .quarantined]
        return reason.map { possible.intersection([$0]) } ?? possible
    }

    package func concerns(_ other: TokenKind) -> Bool {
        if let kind, kind != other { return false }
        if attributesType != nil, other.holder == .installation { return false }
        return !reasons(of: other).isEmpty
    }
}

extension StaleFilter {
    /// Reads the members of a purge's body; faults stay in the reader.
    package init(from json: inout JSONReader) {
        kind = json.optionalString("kind", Self.kind)
        attributesType = json.optionalString("attributesType", AttributesType.init)
        reason = json.optionalChoice("reason")
        unconfirmedFor = json.optionalString("unconfirmedFor", Self.duration)
    }
}

package struct StaleToken: Sendable, Hashable {
    package let kind: TokenKind
    /// The internal number of its activity or of its own; no answer contains it.
    package let number: Int64
    /// All reasons that hold, one at least, in the order of ``StaleReason``.
    package let reasons: [StaleReason]
    /// The first 4 bytes of the token's SHA-256.
    package let fingerprint: [UInt8]
    /// The device's clock when the system gave it the token; the time of receipt when the request did not say.
    package let observedAt: Date
    /// The server's clock at the last registration or refresh.
    package let confirmedAt: Date
    /// Postgres's clock when it was looked at.
    package let now: Date
    package var activityID: UTF8Text?
    /// The installation that has the token or runs its activity; nil for an activity that names none.
    package var installation: InstallationHash?
    /// The attributes type of a start token or an activity; nil for other kinds, and for activities that name none.
    package var attributesType: UTF8Text?
    /// When its activity's lifetime is over, or was; nil for tokens of installations.
    package var expiresAt: Date?
    /// As of when its value was quarantined, whether or not that still holds; nil if it was not, or was released.
    package var quarantinedAt: Date?
    /// APNs's reason in the report by which its value was quarantined, such as `BadDeviceToken`.
    package var quarantineReason: String?

    package init(
        kind: TokenKind,
        number: Int64,
        reasons: [StaleReason],
        fingerprint: [UInt8],
        observedAt: Date,
        confirmedAt: Date,
        now: Date,
        activityID: UTF8Text? = nil,
        installation: InstallationHash? = nil,
        attributesType: UTF8Text? = nil,
        expiresAt: Date? = nil,
        quarantinedAt: Date? = nil,
        quarantineReason: String? = nil
    ) {
        self.kind = kind
        self.number = number
        self.reasons = reasons
        self.fingerprint = fingerprint
        self.observedAt = observedAt
        self.confirmedAt = confirmedAt
        self.now = now
        self.activityID = activityID
        self.installation = installation
        self.attributesType = attributesType
        self.expiresAt = expiresAt
        self.quarantinedAt = quarantinedAt
        self.quarantineReason = quarantineReason
    }

    package var unconfirmedFor: Duration {
        .seconds(max(0, Int(now.timeIntervalSince(confirmedAt))))
    }

    package func sentence(
        for reason: StaleReason,
        span: (Duration) -> String = { ISO8601Duration.format($0) }
    ) -> String {
        switch reason {
        case .unconfirmed: "No client registered or refreshed it for \(span(unconfirmedFor))."
        case .expired:
            "Its activity's lifetime was over at \(expiresAt.map { RFC3339.format($0) } ?? "some time"); no sweep wrote it down yet."
        case .quarantined:
            "A sender reported \(quarantineReason ?? "it") at \(quarantinedAt.map { RFC3339.format($0) } ?? "some time")."
        }
    }
}

extension StaleToken: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
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

package struct StaleCounts: Sendable, Hashable {
    /// Tokens of one kind with the same reason; one with two reasons counts under each.
    package struct Entry: Sendable, Hashable {
        package let kind: TokenKind
        /// The reason that they have, perhaps among others.
        package let reason: StaleReason
        package var count: Int

        package init(kind: TokenKind, reason: StaleReason, count: Int) {
            self.kind = kind
            self.reason = reason
            self.count = count
        }
    }

    package var total = 0
    /// By kind and reason, without zeros; their sum may exceed ``total``.
    package var entries: [Entry] = []
    /// False if the time was too short to look at all: the counts are then lower bounds.
    package var isComplete = true
    package var sample: [StaleToken] = []
    package init() {}

    package mutating func add(_ count: Int, of kind: TokenKind, for reasons: [StaleReason]) {
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
    package func encode(to json: inout JSONWriter) {
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
