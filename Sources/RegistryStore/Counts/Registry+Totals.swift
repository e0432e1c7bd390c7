import PostgresDriver
import RegistryCore
import RegistryRules

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

extension Registry {
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
                    return [Query("counts.read-latest")(values), Query("sweep.count-overdue")(values + ["limit": 1])]
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
