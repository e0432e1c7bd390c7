import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The audit of a full registry responds within a second, with plans that do not depend on its size.
@Suite(.timeLimit(.minutes(20))) struct AuditScaleTests {
    private static let alias = Alias.sample("orderId", "77")

    /// Two events per activity; one in a hundred has a rare type, and one activity in fifty is unconfirmed.
    private static func make(_ count: Int) async throws -> (TestDatabase, Scope) {
        let database = try await TestDatabase.make(requestTimeout: .seconds(900))
        let scope = try await database.scope()
        try await QueryPlanFilling.fill(database, scope, count: count)
        try await database.pool.withSession { session in
            try session.simple("SET statement_timeout = 0")
            _ = try session.pipeline([
                """
                INSERT INTO events (scope_id, drop_on, recorded_at, type, who, activity_id,
                    installation_hash, subject, aliases, token_fingerprint)
                SELECT a.scope_id, current_date + 90, now() - (kinds.n * interval '1 hour'),
                    CASE WHEN kinds.n = 1 THEN 'registered' WHEN a.activity_key % 100 = 0 THEN 'dropped'
                        ELSE 'rotated' END,
                    'test', a.activity_id, a.installation_hash, 'user-' || a.activity_key / 10, a.aliases,
                    substr(a.token_digest, 1, 4)
                FROM (VALUES (1), (2)) AS kinds (n) CROSS JOIN activities a
                """,
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
