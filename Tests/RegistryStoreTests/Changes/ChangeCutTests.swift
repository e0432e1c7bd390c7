import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// Events are committed in another order than their numbers: only a cut between two snapshots loses no event and keeps
/// the order of each key.
@Suite(.timeLimit(.minutes(30))) struct ChangeCutTests {
    private struct Told: Hashable {
        let number: Int64
        let key: Int
        let revision: Int
    }

    private static let keys = 20
    private static let writers = 6

    private enum Reader: CaseIterable { case cut, greaterNumbers }

    @Test func `Only reading by snapshots loses no event and keeps the order of each key`() async throws {
        let database = try await TestDatabase.make(maximumConnections: 16, isAlone: true)
        let scope = try await database.scope()
        _ = try await database.pool.withSession { session in
            try session.simple(
                "CREATE TABLE counters (app bigint, key int, revision int NOT NULL DEFAULT 0, PRIMARY KEY (app, key))"
            )
            // On Citus, all tables of the service are colocated with the events.
            if session.isDistributed {
                _ = try session.execute(
                    "SELECT create_distributed_table('counters', 'app', colocate_with => 'activities'::regclass::text)"
                )
            }
            _ = try session.execute(
                "INSERT INTO counters (app, key) SELECT \(scope.id), generate_series(1, \(Self.keys))"
            )
        }
        let found = try await Self.play(database, scope, rounds: TestScale.isLong ? 4_000 : 150)
        let all = try await Self.events(database)
        #expect(all.count > Self.writers * 100)
        let cut = found[.cut] ?? []
        #expect(Set(cut) == Set(all), "\(all.count - Set(cut).count) events are lost")
        #expect(cut.count == Set(cut).count, "some events are read twice")
        #expect(Self.inversions(cut) == 0)
        // The control: reading greater numbers loses events.
        let naive = found[.greaterNumbers] ?? []
        #expect(Set(naive).count < all.count, "the control with greater numbers lost no events")
        print("figure: of \(all.count) events lost by greater numbers: \(all.count - Set(naive).count); by the cut: 0")
    }

    @Test func `An open transaction in another database delays no changes`() async throws {
        let (database, other) = (try await TestDatabase.make(isAlone: true), try await TestDatabase.make(isAlone: true))
        let scope = try await database.scope()
        let open = try await HeldTransaction("SELECT pg_current_xact_id()", in: other)
        var position = try await database.registry.presentChangePosition()
        for number in 0..<5 {
            try await database.registry.registerSample("a-\(number)", token: number, in: scope)
            let page = try await database.registry.changes(after: position, limit: 10, in: scope)
            #expect(page.changes.map(\.activityID) == [UTF8Text("a-\(number)")])
            position = page.position
        }
        try await open.release()
    }

    private static func play(_ database: TestDatabase, _ scope: Scope, rounds: Int) async throws -> [Reader: [Told]] {
        let end = Flag()
        let start = try await database.registry.presentChangePosition()
        return try await withThrowingTaskGroup(of: (Reader, [Told])?.self) { group in
            for reader in Reader.allCases {
                group.addTask { (reader, try await read(reader, from: start, database, scope, until: end)) }
            }
            try await concurrently(0..<Self.writers) { seed in
                var generator = SeededGenerator(seed: UInt64(seed))
                for _ in 0..<rounds { try await write(database, scope, using: &generator) }
            }
            end.raise()
            var found: [Reader: [Told]] = [:]
            for try await case (let reader, let told)? in group { found[reader] = told }
            return found
        }
    }

    /// A transaction about one to three keys, which gets its id before it waits for rows. Some roll back, some are slow.
    private static func write(
        _ database: TestDatabase,
        _ scope: Scope,
        using generator: inout SeededGenerator
    ) async throws {
        let keys = Set(
            (0..<Int.random(in: 1...3, using: &generator)).map { _ in Int.random(in: 1...Self.keys, using: &generator) }
        )
        let isUndone = Int.random(in: 0..<20, using: &generator) == 0
        let pauses = (0...keys.count).map { _ in Double.random(in: 0...0.004, using: &generator) }
        struct Undone: Error {}
        do {
            try await database.pool.withSession { session in
                try session.transaction { transaction in
                    _ = try transaction.execute("SELECT pg_current_xact_id(), pg_sleep(\(pauses[0]))")
                    for (index, key) in keys.sorted().enumerated() {
                        _ = try transaction.execute(
                            """
                            WITH changed AS (
                                UPDATE counters c SET revision = c.revision + 1
                                WHERE c.app = \(scope.id) AND c.key = \(key) RETURNING *
                            )
                            INSERT INTO events (scope_id, drop_on, type, who, activity_id)
                            SELECT \(scope.id), current_date + 9, 'changed', 'test', changed.key || '/' || changed.revision
                            FROM changed
                            """
                        )
                        _ = try transaction.execute("SELECT pg_sleep(\(pauses[index + 1]))")
                    }
                    if isUndone { throw Undone() }
                }
            }
        } catch is Undone {}
    }

    private static func read(
        _ reader: Reader,
        from start: ChangePosition,
        _ database: TestDatabase,
        _ scope: Scope,
        until end: Flag
    ) async throws -> [Told] {
        var (told, position): ([Told], ChangePosition) = ([], start)
        var isLast = false
        while !isLast {
            isLast = end.isRaised
            switch reader {
            case .cut:
                var page: ChangePage
                repeat {
                    page = try await database.registry.changes(after: position, limit: 7, in: scope)
                    told += page.changes.map { Self.told($0.number, $0.activityID) }
                    position = page.position
                } while page.hasMore
            case .greaterNumbers:
                told += try await events(after: told.last?.number ?? 0, database)
            }
        }
        return told
    }

    private static func events(after number: Int64 = 0, _ database: TestDatabase) async throws -> [Told] {
        let statement: SQL = """
            SELECT e.event_number, e.activity_id FROM events e
            WHERE e.event_number > \(number) AND e.activity_id IS NOT NULL ORDER BY 1
            """
        let rows = try await database.pool.withSession { session in
            try session.execute(statement).decode(Int64.self, UTF8Text?.self)
        }
        return rows.map { told($0.0, $0.1) }
    }

    private static func told(_ number: Int64, _ name: UTF8Text?) -> Told {
        let parts = (name?.string ?? "").split(separator: "/").compactMap { Int($0) }
        return Told(number: number, key: parts.first ?? 0, revision: parts.last ?? 0)
    }

    /// The number of changes that follow a later change of their key.
    private static func inversions(_ told: [Told]) -> Int {
        var (last, count): ([Int: Int], Int) = ([:], 0)
        for one in told {
            if one.revision < last[one.key, default: 0] { count += 1 }
            last[one.key] = max(last[one.key, default: 0], one.revision)
        }
        return count
    }
}
