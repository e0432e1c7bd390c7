import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

package struct Counts: Sendable, Hashable, DecodableRow {
    package enum TokenState: String, Sendable, Hashable, CaseIterable {
        case current
        /// Reported as bad, and not claimed by a client since then.
        case quarantined
        /// Dead, taken over, or belonging to a logged-out installation.
        case withheld
    }

    package enum Group: Sendable, Hashable {
        case activities(ActivityState)
        case tokens(TokenKind, TokenState)

        package static let all: [Group] =
            ActivityState.allCases.map(Group.activities)
            + TokenKind.all.flatMap { kind in TokenState.allCases.map { .tokens(kind, $0) } }

        fileprivate var names: (kind: String, state: String) {
            switch self {
            case .activities(let state): ("activity", state.rawValue)
            case .tokens(let kind, let state): (kind.name, state.rawValue)
            }
        }

        init?(kind: String, state: String) {
            let group =
                kind == "activity"
                ? ActivityState(rawValue: state).map(Group.activities)
                : TokenState(rawValue: state).map { .tokens(TokenKind(stored: kind), $0) }
            guard let group else { return nil }
            self = group
        }
    }

    /// The start of the minute, by Postgres's clock.
    package let countedAt: Date
    package let isEstimated: Bool
    /// Counts by age, as in ``RegistryStatistics/emptyAges``. Empty groups are missing.
    private let ages: [Group: [Int]]

    package subscript(group: Group) -> Int { ages[group]?.reduce(0, +) ?? 0 }

    func ages(of groups: Group...) -> [RegistryStatistics.AgeGroup] {
        RegistryStatistics.emptyAges.enumerated().map { index, age in
            .init(upTo: age.upTo, count: groups.map { ages[$0]?.dropFirst(index).first ?? 0 }.reduce(0, +))
        }
    }

    package var tokens: [RegistryStatistics.Tokens] {
        let counted = ages.keys.compactMap { if case .tokens(let kind, .current) = $0 { kind } else { nil } }
        let others = Set(counted).subtracting(TokenKind.all).sorted { $0.name < $1.name }
        return (TokenKind.all + others).map { kind in
            .init(kind: kind, count: self[.tokens(kind, .current)], ages: ages(of: .tokens(kind, .current)))
        }
    }

    package init(row: NamedRow) throws {
        countedAt = try row["counted_at"]
        isEstimated = try row["is_estimated"]
        ages = try Self.ages(stored: try row["ages"])
    }

    /// Skips unknown groups, because a later version may store more.
    static func ages(stored json: JSONB) throws -> [Group: [Int]] {
        guard let value = JSONValue(stored: json.bytes) else { throw UnreadableRow(detail: "counts are not JSON") }
        var ages: [Group: [Int]] = [:]
        for (kind, states) in try JSONObject.read(value) {
            for (state, counts) in try JSONObject.read(states) {
                guard let group = Group(kind: kind, state: state) else { continue }
                ages[group] = try [JSONValue].read(counts).map(Int.read)
            }
        }
        return ages
    }

    static func json(_ ages: [Group: [Int]]) -> JSONB {
        var json = JSONWriter()
        json.object { json in
            for (kind, groups) in Dictionary(grouping: ages.keys, by: \.names.kind) {
                json.object(kind) { json in
                    for group in groups { json.member(group.names.state, ifPresent: ages[group]) }
                }
            }
        }
        return JSONB(json.bytes)
    }
}

extension Registry {
    /// The counts of this minute, computed and stored if missing. If several instances count at once, all return the
    /// counts stored first.
    ///
    /// - Parameter searchesAll: whether also to find unrecorded expiries before those that the last count found. They
    ///   are rare: a late request created an activity that was already expired.
    @discardableResult
    package func counts(in scope: Scope, searchesAll: Bool = false) async throws -> Counts {
        try await write { session in
            let latest: QueryValues = ["scope": scope.id]
            let current = try session.run("counts.read-latest", latest).decode { row in
                try row["is_current"] ? Counts(row: row) : nil
            }
            if let counts = current.first.flatMap(\.self) { return counts }
            var count = Count(scope: scope)
            try count.addActivities(session)
            try count.addTokens(session)
            let overdue = try session.execute(Query.countOverdue(in: scope.id, from: searchesAll ? .distantPast : nil))
            let counts: QueryValues = [
                "scope": scope.id, "is_estimated": count.isEstimated, "ages": Counts.json(count.ages),
                "swept_to": try overdue.decode { try $0["swept_to"] as Timestamp }[0],
            ]
            _ = try session.pipeline([Query("counts.insert")(counts), Query("counts.thin-out")(latest)])
            // Another instance's counts if it was first.
            return try session.run("counts.read-latest", latest).decode(Counts.self)[0]
        }
    }

    /// Scopes per round trip, kept low because Citus takes 25 milliseconds for each.
    private static let scopesPerRead = 20

    package func totals() async throws -> Totals {
        var (totals, scopes) = try await read { session in
            let results = try session.pipeline([
                Query("changes.read-last-number")(), Query("counts.count-guards")(["window": BurstGuard.window]),
                Query("counts.list-scopes")(), DatabaseCondition.OldSnapshot.find,
            ])
            var totals = Totals()
            totals.eventsWritten = try results[0].decode { try $0["is_called"] ? $0["number"] : 0 }[0]
            totals.activeGuards = try results[1].readCount()
            totals.oldSnapshot = try results[3].decode(String.self, Int.self).first
                .map(DatabaseCondition.OldSnapshot.init(holder:age:))
            let scopes = try results[2].decode { row in
                (
                    id: try row["scope_id"] as Int64, environment: try row["environment"] as APNSEnvironment,
                    age: try row["age"] as Duration
                )
            }
            return (totals, scopes)
        }
        for first in stride(from: 0, to: scopes.count, by: Self.scopesPerRead) {
            let part = Array(scopes[first...].prefix(Self.scopesPerRead))
            totals = try await read { [totals] session in
                var totals = totals
                let reads = part.flatMap { scope -> [SQL] in
                    let values: QueryValues = ["scope": scope.id]
                    return [Query("counts.read-latest")(values), Query.countOverdue(in: scope.id)]
                }
                let results = try session.pipeline(reads)
                for (index, scope) in part.enumerated() {
                    let latest = try results[2 * index].decode {
                        (age: try $0["age"] as Duration, ages: try Counts.ages(stored: try $0["ages"]))
                    }.first
                    totals.age = max(totals.age, latest?.age ?? scope.age)
                    let sums = (latest?.ages ?? [:]).mapValues { $0.reduce(0, +) }
                    totals.counts[scope.environment]?.merge(sums, uniquingKeysWith: +)
                    let lag = try results[2 * index + 1].decode { try $0["age"] as Duration? }[0]
                    totals.sweepLag = max(totals.sweepLag, lag ?? .zero)
                }
                return totals
            }
        }
        return totals
    }
}

private struct Count {
    let scope: Scope
    var ages: [Counts.Group: [Int]] = [:]
    var isEstimated = false

    private typealias Key = (kind: String, state: String, age: Int)

    mutating func addActivities(_ session: borrowing PostgresSession) throws {
        try count("counts.count-activities", in: "activities", session) { row in
            let activity: Key = ("activity", try row["state"], try row["age"])
            guard let state: String = try row["token_state"] else { return [activity] }
            return [activity, (TokenKind.update.name, state, try row["token_age"])]
        }
    }

    mutating func addTokens(_ session: borrowing PostgresSession) throws {
        try count("counts.count-tokens", in: "installation_tokens", session) { row in
            [(try row["kind"], try row["state"], try row["age"])]
        }
    }

    private mutating func count(
        _ query: Query,
        in table: String,
        _ session: borrowing PostgresSession,
        _ keys: (NamedRow) throws -> [Key]
    ) throws {
        // About so many rows are read per table. A row costs two lookups, about 16 microseconds, so a table takes at
        // most half a second. Counts are off by a few percent.
        let sample = try TableSample(table, size: 30_000, of: scope, session)
        let values: QueryValues = ["scope": scope.id, "ages": RegistryStatistics.ageLimits]
        let counted = try sample.count(query, values, session, keys)
        isEstimated = isEstimated || counted.isEstimated
        for (keys, count) in counted.groups {
            for key in keys {
                guard let group = Counts.Group(kind: key.kind, state: key.state) else {
                    throw UnreadableRow(detail: "an unknown kind or state")
                }
                ages[group, default: RegistryStatistics.emptyAges.map { _ in 0 }][key.age] += count
            }
        }
    }
}

package struct Totals: Sendable, Hashable {
    /// The sums of every app's latest counts. Every group is present.
    package internal(set) var counts: [APNSEnvironment: [Counts.Group: Int]]
    /// The greatest age of any app's latest counts. An app without counts contributes its own age.
    package internal(set) var age: Duration = .zero
    /// The time since the oldest expiry that a sweep has yet to record, or zero.
    package internal(set) var sweepLag: Duration = .zero
    package internal(set) var activeGuards = 0
    package internal(set) var oldSnapshot: DatabaseCondition.OldSnapshot?
    /// Audit events written by all instances, including failed transactions.
    package internal(set) var eventsWritten = 0

    init() {
        let nothing = Dictionary(uniqueKeysWithValues: Counts.Group.all.map { ($0, 0) })
        counts = Dictionary(uniqueKeysWithValues: APNSEnvironment.allCases.map { ($0, nothing) })
    }
}
