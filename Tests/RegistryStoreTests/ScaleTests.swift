import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The audit of a full registry responds within a second, with plans that do not depend on its size.
@Suite(.timeLimit(.minutes(20))) struct AuditScaleTests {
    private static let alias = Alias.sample("orderId", "77")

    /// One activity in fifty is unconfirmed.
    private static func make(_ count: Int) async throws -> (TestDatabase, Scope) {
        let database = try await TestDatabase.make(requestTimeout: .seconds(900))
        let scope = try await database.scope()
        try await QueryPlanFilling.fill(database, scope, count: count)
        try await database.pool.withSession { session in
            try session.simple("SET statement_timeout = 0")
            _ = try session.pipeline([
                QueryPlanFilling.events,
                """
                UPDATE activities a SET confirmed_at = now() - interval '3 hours',
                    withheld = CASE WHEN a.activity_key % 1000 = 0 THEN 'quarantined' END
                WHERE a.activity_key % 50 = 0
                """,
                """
                UPDATE token_values t SET quarantined_at = now(), quarantined_kind = 'update',
                    quarantine_reason = 'BadDeviceToken'
                FROM activities a WHERE a.activity_key % 1000 = 0 AND t.scope_id = a.scope_id
                    AND t.token_digest = a.token_digest
                """,
            ])
        }
        try await database.script("VACUUM ANALYZE activities, token_values, events")
        return (database, scope)
    }

    private static func calls(_ registry: Registry, _ scope: Scope) -> [(String, @Sendable () async throws -> Void)] {
        func stale(_ change: (inout StaleFilter) -> Void) -> @Sendable () async throws -> Void {
            var filter = StaleFilter()
            change(&filter)
            return { [filter] in _ = try await registry.staleTokens(filter, limit: 100, in: scope) }
        }
        func events(_ change: (inout EventFilter) -> Void) -> @Sendable () async throws -> Void {
            var filter = EventFilter()
            change(&filter)
            return { [filter] in _ = try await registry.events(filter, limit: 100, in: scope) }
        }
        return [
            ("explain", { _ = try await registry.explain(alias, limit: 100, in: scope) }),
            (
                "counts",
                {
                    try await registry.write { _ = try $0.execute("DELETE FROM counts") }
                    try await registry.counts(in: scope)
                }
            ), ("stats of a day", { _ = try await registry.statistics(over: .seconds(86_400), in: scope) }),
            ("stats of a month", { _ = try await registry.statistics(over: .seconds(30 * 86_400), in: scope) }),
            ("stale", stale { _ in }), ("stale, quarantined", stale { $0.reason = .quarantined }),
            ("stale, nothing found", stale { ($0.kind, $0.unconfirmedFor) = (.update, .seconds(86_400)) }),
            ("purge, dry run", { _ = try await registry.countStaleTokens(in: scope) }),
            ("events", events { _ in }), ("events of an activity", events { $0.activityID = .sample("activity-77") }),
            ("events of an installation", events { $0.installation = InstallationHash(bytes: installation) }),
            ("events of a user", events { $0.subject = "user-77" }),
            ("events of an alias", events { $0.alias = alias }),
            ("rare events", events { $0.type = "dropped" }), ("common events", events { $0.type = "rotated" }),
            ("no events", events { $0.type = "nonsense" }),
            ("events until", events { $0.until = .minutesAgo(90) }),
        ]
    }

    private static let installation: [UInt8] = Array(Data(base64Encoded: hashOf25) ?? Data())
    /// SHA-256 over 25 as eight bytes.
    private static let hashOf25 = "Vh9ie0ITJY3IhjSYu5sHyQTDxlp4waNryjKRVNHe0hM="

    @Test(.enabled(if: TestScale.isLong)) func `The audit answers within a second`() async throws {
        let count = 1_000_000
        let (database, scope) = try await Self.make(count)
        let clock = ContinuousClock()
        for (name, call) in Self.calls(database.registry, scope) {
            var times: [Duration] = []
            for _ in 0..<5 { times.append(try await clock.measure { try await call() }) }
            let median = times.sorted()[times.count / 2]
            print("audit of \(count) activities: \(name) \(median)")
            #expect(median < .seconds(1), "\(name): \(median)")
        }
    }
}

/// Calls about one user, installation or alias cost in proportion to its own rows, and stay within the statement timeout.
@Suite(.timeLimit(.minutes(120))) struct ErasureScaleTests {
    /// Ten activities per user, three per installation, two per alias, and an event per activity.
    private static func make(_ count: Int) async throws -> CostMeter {
        let meter = try await CostMeter.make()
        try await QueryPlanFilling.fill(meter.database, meter.scope, count: count, haveUsers: true)
        try await meter.database.pool.withSession(.never, timeout: .seconds(7200)) { session in
            _ = try session.execute(
                """
                INSERT INTO events (scope_id, drop_on, type, who, activity_id, installation_hash, subject,
                    aliases, token_fingerprint)
                SELECT a.scope_id, current_date + 90, 'registered', 'test', a.activity_id,
                    a.installation_hash, a.subject, a.aliases, substr(a.token_digest, 1, 4)
                FROM activities a ORDER BY a.activity_key
                """
            )
            try session.simple("VACUUM ANALYZE activities, installations, events")
        }
        try await meter.database.script("SET statement_timeout = '4s'")
        return meter
    }

    /// The hash of the installation with the activities 3 `number` to 3 `number` + 2.
    private static func hash(_ number: Int, in meter: CostMeter) async throws -> InstallationHash {
        let hashes: SQL = "SELECT sha256(int8send(\(Int64(number))))"
        return InstallationHash(bytes: try await meter.database.column(hashes, as: [UInt8].self)[0])
    }

    @Test(arguments: [20_000] + (TestScale.isLong ? [1_000_000, 10_000_000] : []))
    func `One of many activities is erased by an index`(_ count: Int) async throws {
        let meter = try await Self.make(count)
        let (registry, scope) = (meter.registry, meter.scope)
        let phone = try await Self.hash(1000, in: meter)
        let other = try await Self.hash(2000, in: meter)
        func erase(_ subject: ErasureSubject, _ activities: Int) async throws {
            let counts = try await meter.erase(subject)
            #expect(counts.activities == activities)
            #expect(counts.events >= activities)
        }
        let calls: [(name: String, call: () async throws -> Void)] = [
            ("explain", { _ = try await registry.explain(.sample("orderId", "4000"), limit: 100, in: scope) }),
            ("log-out", { try await registry.logOut(other, observedAt: nil, in: scope, by: "test") }),
            ("erasure of an installation", { try await erase(.installation(phone), 3) }),
            ("erasure of a user", { try await erase(.subject("user-900"), 10) }),
        ]
        for (name, call) in calls {
            let clock = ContinuousClock()
            let start = clock.now
            let cost = try await meter.measure(runs: 1, call)
            print("figure: \(name) among \(count) activities: \(cost), \(clock.now - start) in all")
            // Its own rows, and the summary of the audit trail: about 250 pages per million events for each query.
            // Reading all activities or events would be at least 5,000 pages even in the small run.
            #expect(cost.pages <= 2000 + count / 100, "\(name)")
        }
    }
}
