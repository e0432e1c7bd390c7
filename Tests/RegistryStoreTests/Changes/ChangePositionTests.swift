import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite(.timeLimit(.minutes(5))) struct ChangePositionTests {
    private static let database = ChangePosition.Database(
        system: 7_345_678_901_234_567_890,
        oid: 16_385,
        table: 16_999,
        timeline: 1
    )

    private static func moment(
        _ oldest: UInt64,
        _ next: UInt64,
        running: [UInt64] = [],
        number: Int64
    ) -> ChangePosition.Moment {
        let snapshot = TransactionSnapshot(oldest: oldest, next: next, running: running)!
        return ChangePosition.Moment(snapshot: snapshot, number: number, time: 1_790_000_000_000 + number)
    }

    private static func positions() -> [ChangePosition] {
        let now = moment(100, 110, running: [100, 105], number: 50)
        let start = ChangePosition(
            database: database,
            now: now,
            mark: .init(transaction: 90, number: 40),
            fallback: 1000
        )
        let later = moment(105, 300, running: [105, 299], number: 500)
        var marked = start.moved(to: later)
        marked.mark = ChangePosition.Mark(transaction: 310, number: 490)
        return [start, start.moved(to: later), marked, start.moved(within: later, to: 123)]
    }

    @Test func `A position survives a round trip`() throws {
        for position in Self.positions() { #expect(try ChangePosition(position.text) == position) }
    }

    @Test func `A number too large to be incremented is refused`() {
        for number in [1 << 62, Int64.max] {
            var position = Self.positions()[3]
            position.page = position.page.map { ChangePosition.Page(upper: $0.upper, last: number) }
            #expect(throws: JSONFaultReason.self) { try ChangePosition(position.text) }
        }
    }

    @Test func `A text that differs slightly from a position is refused`() throws {
        for position in Self.positions() {
            let text = position.text
            #expect(throws: JSONFaultReason.self) { try ChangePosition(text + "A") }
            #expect(throws: JSONFaultReason.self) { try ChangePosition(String(text.dropLast())) }
            #expect(throws: JSONFaultReason.self) { try ChangePosition("B" + text.dropFirst()) }
        }
        for text in ["", "AA", "!", "null", String(repeating: "_", count: 5000)] {
            #expect(throws: JSONFaultReason.self) { try ChangePosition(text) }
        }
    }

    @Test func `An altered position is rejected or survives a round trip`() {
        var generator = SeededGenerator(seed: 7)
        let texts = Self.positions().map(\.text)
        for round in 0..<20_000 {
            var bytes = Array(texts[round % texts.count].utf8)
            for _ in 0...Int.random(in: 0..<3, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = Array("0123456789.-".utf8)
                    .randomElement(using: &generator)!
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if let position = try? ChangePosition(text) { #expect(position.text == text) }
        }
    }

    @Test func `The bound rises only after all transactions that could have a smaller number`() {
        let now = Self.moment(100, 120, running: [100, 115], number: 60)
        let mark = ChangePosition.Mark(transaction: 109, number: 50)
        var position = ChangePosition(database: Self.database, now: now, mark: mark, fallback: 20)
        #expect(position.low == 40 && !position.needsMark, "transaction 100 is still running")
        position = position.moved(to: Self.moment(109, 130, running: [109], number: 70))
        #expect(position.low == 40, "transaction 109 is still running")
        position = position.moved(to: Self.moment(110, 140, running: [110], number: 80))
        #expect(position.low == 50)
        #expect(position.needsMark)
        position.mark = ChangePosition.Mark(transaction: 145, number: 80)
        position = position.moved(to: Self.moment(145, 150, number: 90))
        #expect(position.low == 50)
        position = position.moved(to: Self.moment(146, 160, number: 80))
        #expect(position.low == 80 && !position.needsMark, "no number was drawn meanwhile")
    }

    @Test(arguments: ["10:10:", "10:20:10,13,19"])
    func `A snapshot is read from Postgres's text and written unchanged`(text: String) throws {
        #expect(try #require(TransactionSnapshot(text)).text.string == text)
    }

    @Test(arguments: ["", "1:2", "0:1:", "3:2:", "1:5:5", "1:5:3,2", "1:5:x", "1:2:3:4"])
    func `A malformed snapshot is rejected`(text: String) { #expect(TransactionSnapshot(text) == nil) }
}

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
