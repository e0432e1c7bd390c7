import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Scopes per round trip, kept low because Citus takes 25 milliseconds for each.
    private static let scopesPerRead = 20

    package func totals() async throws -> Totals {
        var (totals, scopes) = try await read { session in
            let results = try session.pipeline([
                Query("counts.read-last-event")(), Query("counts.count-guards")(["window": BurstGuard.window]),
                Query("counts.list-scopes")(), ConditionStatements.oldSnapshot,
            ])
            var totals = Totals()
            totals.eventsWritten = try results[0].decode { try $0["last"] }[0]
            totals.activeGuards = try results[1].readCount()
            totals.oldSnapshot = try DatabaseCondition.OldSnapshot(results[3])
            return (totals, try results[2].decode(CountedScope.self))
        }
        for first in stride(from: 0, to: scopes.count, by: Self.scopesPerRead) {
            let part = Array(scopes[first...].prefix(Self.scopesPerRead))
            totals = try await read { [totals] session in
                var totals = totals
                let reads = part.flatMap { scope -> [SQL] in
                    let values: QueryValues = ["scope": scope.id]
                    return [Query.readLatestCounts(values), Query.countOverdue(values + ["limit": 1])]
                }
                let results = try session.pipeline(reads)
                for (index, scope) in part.enumerated() {
                    try totals.add(scope, latest: results[2 * index], lag: results[2 * index + 1])
                }
                return totals
            }
        }
        return totals
    }
}

private struct CountedScope: DecodableRow {
    let id: Int64
    let environment: APNSEnvironment
    let age: Duration

    init(row: NamedRow) throws {
        id = try row["scope_id"]
        environment = try APNSEnvironment(stored: try row["environment"])
        age = try row["age"]
    }
}

extension Totals {
    fileprivate mutating func add(_ scope: CountedScope, latest: PostgresResult, lag: PostgresResult) throws {
        let latest = try latest.decode {
            (age: try $0["age"] as Duration, ages: try Counts.ages(stored: try $0["ages"]))
        }
        age = max(age, latest.first?.age ?? scope.age)
        counts[scope.environment]?.merge((latest.first?.ages ?? [:]).mapValues { $0.reduce(0, +) }, uniquingKeysWith: +)
        sweepLag = max(sweepLag, try lag.decode { try $0["age"] as Duration? }[0] ?? .zero)
    }
}
