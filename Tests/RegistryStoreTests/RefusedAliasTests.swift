import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
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
        let hasEnded = Flag()
        async let problem = {
            let problem = await call()
            hasEnded.raise()
            return problem
        }()
        try await until { if hasEnded.isRaised { true } else { try await change.waiting > 0 } }
        try await change.release()
        #expect(await problem?.code == .clockSkew)
    }
}

/// A write that changes no row is not reported as done or erased.
@Suite struct RefusedWriteTests {
    struct Call: CustomTestStringConvertible {
        let table: String
        let name: String
        let make: @Sendable (Registry, Scope) async throws -> Void

        var testDescription: String { "\(name), \(table)" }
    }

    @Test(arguments: calls) func `A write that changes no row fails`(_ call: Call) async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await database.script(
            """
            CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
            CREATE TRIGGER skip BEFORE INSERT OR UPDATE ON \(call.table) FOR EACH ROW EXECUTE FUNCTION skip()
            """
        )
        let problem = await #expect(throws: Problem.self) { try await call.make(database.registry, scope) }
        #expect(problem?.code == .unknownApp)
        // The control: without the trigger the call succeeds.
        try await database.script("DROP TRIGGER skip ON \(call.table)")
        try await call.make(database.registry, scope)
    }

    private static let alias = Alias.sample("orderId", "42")

    private static let calls: [Call] = [
        Call(table: "channel_quotas", name: "channel") {
            let channel = BroadcastChannel(stored: "AAAA", storagePolicy: .none)
            _ = try await $0.put(channel, for: alias, in: $1, by: "test")
        },
        Call(table: "channel_quotas", name: "deletion of a channel") {
            try await $0.deleteChannel(of: alias, in: $1, by: "test")
        },
        Call(table: "erasures", name: "erasure") { _ = try await $0.erase(.alias(alias), in: $1, by: "test") },
    ]
}

/// R1: a repetition writes again, because the commit may have been lost with its response.
@Suite struct RepetitionTests {
    private let t0 = Date.minutesAgo(60)

    @Test(arguments: [TestInstallation.delivery, TestInstallation.device, TestInstallation.widget])
    func `Every acknowledged repetition writes`(_ slot: TokenSlot) async throws {
        let phone = try await TestInstallation.make()
        let activity = phone.activity("a")
        var seen: Set<String> = []
        let calls: [(String, () async throws -> Void)] = [
            ("activities", { try await activity.register(1, at: t0) }), ("activities", { try await activity.end() }),
            ("installation_tokens", { try await phone.register(2, in: slot, at: t0) }),
            ("installation_tokens", { try await phone.delete(slot, at: t0 + 60) }),
            ("installations", { try await phone.logOut(at: t0 + 60) }),
            ("installations", { try await phone.put([], at: t0 + 120) }),
        ]
        for (table, call) in calls {
            for _ in 0..<3 {
                try await call()
                seen.formUnion(try await phone.column("SELECT xmin::text FROM \(unescaped: table)"))
            }
        }
        #expect(seen.count == 18)
        #expect(try await activity.events() == ["registered", "ended"])
        #expect(try await phone.events() == ["registered", "deleted", "logged-out", "installation-changed"])
    }
}
