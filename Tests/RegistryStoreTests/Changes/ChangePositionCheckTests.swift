import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite(.timeLimit(.minutes(15))) struct ChangePositionCheckTests {
    private static func problem(
        _ root: TestActivity,
        _ change: (inout ChangePosition) -> Void
    ) async throws -> Problem.Code? {
        var position = try await root.registry.presentChangePosition()
        change(&position)
        return await root.problem { [position] in
            try await root.registry.changes(after: position, limit: 10, in: root.scope)
        }?.code
    }

    @Test func `A position of another server, database, event table or timeline is refused`() async throws {
        let root = try await TestActivity.make()
        #expect(try await Self.problem(root) { _ in } == nil)
        for change in [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)] as [(UInt64, UInt32, UInt32, UInt32)] {
            let code = try await Self.problem(root) { position in
                let old = position.database
                let other = ChangePosition.Database(
                    system: old.system &+ change.0,
                    oid: old.oid &+ change.1,
                    table: old.table &+ change.2,
                    timeline: old.timeline &+ change.3
                )
                let (since, low) = (position.since, position.low)
                position = ChangePosition(database: other, since: since, low: low, mark: position.mark, page: nil)
            }
            #expect(code == .feedReset)
        }
    }

    @Test func `A position from the future of this database is refused`() async throws {
        let root = try await TestActivity.make()
        let ahead = try await Self.problem(root) { position in
            let next = position.since.snapshot.next + 1_000_000
            position.since = position.since.at(TransactionSnapshot(oldest: next, next: next, running: [])!)
        }
        #expect(ahead == .feedReset)
        #expect(try await Self.problem(root) { $0.since = $0.since.at(number: 1_000_000) } == .feedReset)
    }

    @Test func `A position as old as the retention of events is refused, and a younger one is not`() async throws {
        let root = try await TestActivity.make()
        let days = root.scope.app.settings.eventRetention / .seconds(86_400)
        for (seconds, code) in [(86_390.0, nil), (86_400, .feedExpired)] as [(Double, Problem.Code?)] {
            let age = Int64((days - 1) * 86_400_000 + seconds * 1000)
            #expect(try await Self.problem(root) { $0.since = $0.since.at(time: -age) } == code)
        }
    }

    @Test func `A page skips millions of other events after a position`() async throws {
        let database = try await TestDatabase.make(isAlone: true)
        let scope = try await database.scope()
        let open = try await HeldTransaction("SELECT pg_current_xact_id()", in: database)
        let position = try await database.registry.presentChangePosition()
        try await database.run("SELECT setval('events_event_number_seq', 3500000)")
        try await database.registry.registerSample("a", token: 1, minutesAgo: 1, in: scope)
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

extension ChangePosition.Moment {
    /// A moment with another snapshot, or with a greater number or time.
    fileprivate func at(_ other: TransactionSnapshot? = nil, number more: Int64 = 0, time later: Int64 = 0) -> Self {
        Self(snapshot: other ?? snapshot, number: number + more, time: time + later)
    }
}
