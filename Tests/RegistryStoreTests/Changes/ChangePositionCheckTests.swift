import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite(.timeLimit(.minutes(15))) struct ChangePositionCheckTests {
    private static func problem(
        _ root: TestActivity,
        _ change: (ChangePosition) -> ChangePosition
    ) async throws -> Problem.Code? {
        let position = change(try await root.registry.presentChangePosition())
        return await root.problem {
            try await root.registry.changes(after: position, limit: 10, in: root.scope)
        }?.code
    }

    private static func position(
        _ old: ChangePosition,
        database: ChangePosition.Database? = nil,
        since: ChangePosition.Moment? = nil
    ) -> ChangePosition {
        ChangePosition(
            database: database ?? old.database,
            since: since ?? old.since,
            low: old.low,
            mark: old.mark,
            page: old.page
        )
    }

    @Test func `A position of another server, database, event table or timeline is refused`() async throws {
        let root = try await TestActivity.make()
        #expect(try await Self.problem(root) { $0 } == nil)
        for change in [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)] as [(UInt64, UInt32, UInt32, UInt32)] {
            let code = try await Self.problem(root) { old in
                let now = old.database
                let other = ChangePosition.Database(
                    system: now.system &+ change.0,
                    oid: now.oid &+ change.1,
                    table: now.table &+ change.2,
                    timeline: now.timeline &+ change.3
                )
                return Self.position(old, database: other)
            }
            #expect(code == .feedReset)
        }
    }

    @Test func `A position from the future of this database is refused`() async throws {
        let root = try await TestActivity.make()
        let ahead = try await Self.problem(root) { old in
            let next = old.since.snapshot.next + 1_000_000
            let snapshot = TransactionSnapshot(oldest: next, next: next, running: [])!
            return Self.position(old, since: .init(snapshot: snapshot, number: old.since.number, time: old.since.time))
        }
        #expect(ahead == .feedReset)
        let drawn = try await Self.problem(root) { old in
            let moment = ChangePosition.Moment(
                snapshot: old.since.snapshot,
                number: old.since.number + 1_000_000,
                time: old.since.time
            )
            return Self.position(old, since: moment)
        }
        #expect(drawn == .feedReset)
    }

    @Test func `A position as old as the retention of events is refused, and a younger one is not`() async throws {
        let root = try await TestActivity.make()
        for (seconds, code) in [(86_390.0, nil), (86_400, .feedExpired)] as [(Double, Problem.Code?)] {
            let found = try await Self.problem(root) { old in
                let days = root.scope.app.settings.eventRetention / .seconds(86_400)
                let age = Int64((days - 1) * 86_400_000 + seconds * 1000)
                let moment = ChangePosition.Moment(
                    snapshot: old.since.snapshot,
                    number: old.since.number,
                    time: old.since.time - age
                )
                return Self.position(old, since: moment)
            }
            #expect(found == code)
        }
    }

    @Test func `A page skips millions of other events after a position`() async throws {
        let database = try await TestDatabase.make(isAlone: true)
        let scope = try await database.scope()
        let open = try await HeldTransaction("SELECT pg_current_xact_id()", in: database)
        let position = try await database.registry.presentChangePosition()
        _ = try await database.pool.withSession { session in
            try session.execute("SELECT setval('events_event_number_seq', 3500000)").count
        }
        let registration = ActivityRegistration.sample(token: .sample(1), observedAt: .minutesAgo(1))
        _ = try await database.registry.register(registration, as: .sample("a"), in: scope, by: "test")
        // First with an open transaction, which keeps the bound at its position, then without it.
        for isOpen in [true, false] {
            var (pages, found, place) = (0, [Change](), position)
            while true {
                let page = try await database.registry.changes(after: place, limit: 10, in: scope)
                (pages, found, place) = (pages + 1, found + page.changes, page.position)
                guard page.hasMore else { break }
            }
            #expect(pages >= 4)
            #expect(found.count == 1)
            if isOpen { try await open.release() }
        }
    }
}
