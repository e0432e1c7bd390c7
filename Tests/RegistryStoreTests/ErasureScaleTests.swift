import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// Calls about one user, installation or alias cost in proportion to its own rows, and stay within the statement
/// timeout.
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
