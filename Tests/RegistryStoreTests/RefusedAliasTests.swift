import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import Synchronization
import TestSupport
import Testing

/// Refused requests with aliases write no alias rows during another change of the record's aliases.
@Suite(.timeLimit(.minutes(15))) struct RefusedAliasTests {
    @Test func `A refused registration does not bring back an alias that is being replaced`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: .minutesAgo(5), aliases: [.sample("orderId", "old")])
        try await whileReplaced(in: activity.database, table: "activity", key: "activity_key") {
            await activity.problem {
                try await activity.register(2, at: .minutesAgo(-60), aliases: [.sample("orderId", "refused")])
            }
        }
        #expect(try await activity.column("SELECT value FROM activity_aliases ORDER BY value") == ["new"])
    }

    @Test func `A refused profile does not bring back an alias that is being replaced`() async throws {
        let phone = try await TestInstallation.make()
        try await phone.put([.sample("orderId", "old")], at: .minutesAgo(5))
        try await whileReplaced(in: phone.database, table: "installation", key: "installation_hash") {
            await phone.problem { try await phone.put([.sample("orderId", "refused")], at: .minutesAgo(-60)) }
        }
        #expect(try await phone.column("SELECT value FROM installation_aliases ORDER BY value") == ["new"])
    }

    /// Makes a refused call while a transaction replaces the alias "old" by "new". The transaction commits when the
    /// call has ended, or waits.
    private func whileReplaced(
        in database: TestDatabase,
        table: String,
        key: String,
        _ call: @escaping @Sendable () async -> Problem?
    ) async throws {
        let rows = "\(table)_aliases"
        let ended = table == "activity" ? ("ended, ", "false, ") : ("", "")
        let columns = "scope_id, kind, value, \(ended.0)\(key)"
        let records = table == "activity" ? "activities" : "installations"
        let change = try await HeldTransaction(
            """
            WITH changed AS (
                UPDATE \(unescaped: records) SET aliases = '{"orderId": ["new"]}' RETURNING *
            ), gone AS (DELETE FROM \(unescaped: rows) WHERE value = 'old')
            INSERT INTO \(unescaped: rows) (\(unescaped: columns))
            SELECT scope_id, 'orderId', 'new', \(unescaped: ended.1)\(unescaped: key) FROM changed
            """,
            in: database,
            commits: true
        )
        let hasEnded = Mutex(false)
        async let problem = {
            let problem = await call()
            hasEnded.withLock { $0 = true }
            return problem
        }()
        try await until { if hasEnded.withLock({ $0 }) { true } else { try await change.waiting > 0 } }
        try await change.release()
        #expect(await problem?.code == .clockSkew)
    }
}
