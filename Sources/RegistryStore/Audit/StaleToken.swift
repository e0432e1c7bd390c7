import Foundation
import RegistryCore

package enum StaleReason: String, Sendable, Hashable, CaseIterable {
    case unconfirmed
    /// The activity's lifetime is over, and no sweep has recorded that yet.
    case expired
    /// A sender reported it, and no client or admin cleared it since.
    case quarantined
}

/// A nil member filters nothing.
package struct StaleFilter: Sendable, Hashable {
    package var kind: TokenKind?
    /// Excludes kinds without attributes types.
    package var attributesType: AttributesType?
    /// Includes tokens that also have other reasons.
    package var reason: StaleReason?
    /// Nil means 2 hours for activities and 3 days for other kinds.
    package var unconfirmedFor: Duration?
    package init() {}

    package static func kind(of app: App) -> (String) throws(JSONFaultReason) -> TokenKind {
        { name throws(JSONFaultReason) in try TokenKind(name, among: app.settings.allTokenKinds) }
    }

    package static func duration(_ text: String) throws(JSONFaultReason) -> Duration {
        guard let duration = ISO8601Duration.parse(text), AppChanges.retentions.contains(duration) else {
            throw JSONFaultReason("must be an ISO 8601 duration from PT1S to P3660D, such as PT2H")
        }
        return duration
    }

    package func staleAge(with kind: TokenKind) -> Duration {
        unconfirmedFor ?? (kind.holder == .activity ? .seconds(2 * 3600) : .seconds(3 * 86_400))
    }

    /// Only activities expire.
    package func reasons(of kind: TokenKind) -> [StaleReason] {
        let possible = StaleReason.allCases.filter { kind.holder == .activity || $0 != .expired }
        return reason.map { reason in possible.filter { $0 == reason } } ?? possible
    }

    package func concerns(_ other: TokenKind) -> Bool {
        if let kind, kind != other { return false }
        if attributesType != nil, other.holder == .installation { return false }
        return !reasons(of: other).isEmpty
    }

    /// Reads the members of a purge's body; faults stay in the reader.
    package init(from json: inout JSONReader, in app: App) {
        kind = json.optionalString("kind", Self.kind(of: app))
        attributesType = json.optionalString("attributesType", AttributesType.init)
        reason = json.optional("reason", StaleReason.read)
        unconfirmedFor = json.optionalString("unconfirmedFor", Self.duration)
    }
}

package struct StaleToken: Sendable, Hashable, JSONObjectEncodable {
    package let kind: TokenKind
    package let number: Int64
    /// Not empty, in the order of ``StaleReason``.
    package let reasons: [StaleReason]
    package let fingerprint: [UInt8]
    package let observedAt: Date
    package let confirmedAt: Date
    /// By Postgres's clock, in whole seconds.
    package let unconfirmedFor: Duration
    package var activityID: UTF8Text?
    package var installation: InstallationHash?
    package var attributesType: UTF8Text?
    package var expiresAt: Date?
    /// The effective time of the quarantine, even if it ended. Nil after a release.
    package var quarantinedAt: Date?
    package var quarantineReason: String?

    package func sentence(
        for reason: StaleReason,
        span: (Duration) -> String = { ISO8601Duration.format($0) }
    ) -> String {
        switch reason {
        case .unconfirmed: "No client registered or refreshed it for \(span(unconfirmedFor))."
        case .expired:
            "Its activity's lifetime ended at \(expiresAt.map { RFC3339.format($0) } ?? "some time"); no sweep has recorded it yet."
        case .quarantined:
            "A sender reported \(quarantineReason ?? "it") at \(quarantinedAt.map { RFC3339.format($0) } ?? "some time")."
        }
    }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("kind", kind.name)
        json.member("activityId", ifPresent: activityID)
        json.hex("installation", ifPresent: installation?.bytes)
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

package struct StaleCounts: Sendable, Hashable, JSONObjectEncodable {
    /// Tokens by kind and reason. A token with two reasons counts twice.
    package struct Entry: Sendable, Hashable, JSONObjectEncodable {
        package let kind: TokenKind
        package let reason: StaleReason
        package var count: Int

        package func writeMembers(to json: inout JSONWriter) {
            json.member("kind", kind.name)
            json.member("reason", reason.rawValue)
            json.member("count", count)
        }
    }

    package var total = 0
    /// Without zeros. The sum can exceed ``total``.
    package var entries: [Entry] = []
    /// False if the time limit ended the search. The counts are then lower bounds.
    package var isComplete = true
    package var sample: [StaleToken] = []

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

    package func writeMembers(to json: inout JSONWriter) {
        json.member("dryRun", true)
        json.member("matched", total)
        json.member("complete", isComplete)
        json.member("counts", entries)
        json.member("sample", sample)
    }
}
