import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite struct ResolveTests {
    @Test func `Pages contain each running activity once`() async throws {
        let first = try await TestActivity.make()
        let alias = Alias.sample("matchId", "7")
        for number in 1...25 {
            let activity = first.another("a\(number)")
            try await activity.register(number, at: nil, aliases: [alias])
            if number.isMultiple(of: 5) { try await activity.end() }
        }
        var seen: [ActivityID] = []
        var last: Int64 = 0
        while true {
            let page = try await first.registry.activities(under: alias, after: last, limit: 6, in: first.scope)
            guard let end = page.last else { break }
            seen += page.map(\.activityID)
            last = end.key
            // Rotations between pages do not move rows.
            try await first.another("a1").register(100 + seen.count, at: nil)
        }
        #expect(seen.count == 20)
        #expect(Set(seen).count == 20)
    }

    @Test(arguments: [1, 2, 3, 4, 7, 14, 1000], [0, 1, 6])
    func `Ranges contain each running activity once`(rangeSize: Int, others: Int) async throws {
        let first = try await TestActivity.make()
        let alias = Alias.sample("matchId", "7")
        var tokens = 100
        for number in 1...14 {
            let activity = first.another("a\(number)")
            try await activity.register(number, at: nil, aliases: [alias])
            if number.isMultiple(of: 7) { try await activity.end() }
            for _ in 0..<others {
                tokens += 1
                try await first.another("b\(tokens)").register(tokens, at: nil, aliases: [.sample("matchId", "8")])
            }
        }
        let registry = first.registry
        let all = try await registry.activities(under: alias, limit: 100, in: first.scope)
        #expect(all.count == 12)
        for known in [0, 1, 11, 12] {
            let last = known == 0 ? 0 : all[known - 1].key
            var seen: [ResolvedActivity] = []
            try await registry.forEachRange(
                of: alias,
                after: last,
                in: first.scope,
                rangeSize: rangeSize,
                prepare: { $0 },
                receive: { seen += $0 }
            )
            #expect(seen == Array(all[known...]))
        }
    }

    @Test func `An error of the closure ends the reading of ranges`() async throws {
        struct Enough: Error {}
        let first = try await TestActivity.make()
        let alias = Alias.sample("matchId", "7")
        for number in 1...6 { try await first.another("a\(number)").register(number, at: nil, aliases: [alias]) }
        var seen = 0
        await #expect(throws: Enough.self) {
            try await first.registry.forEachRange(
                of: alias,
                after: 0,
                in: first.scope,
                rangeSize: 1,
                prepare: \.count,
                receive: {
                    seen += $0
                    if seen == 3 { throw Enough() }
                }
            )
        }
        #expect(seen == 3)
    }

    @Test func `Ending an alias ends all its running activities`() async throws {
        let activity = try await TestActivity.make()
        let alias = Alias.sample("matchId", "7")
        for number in 1...5 { try await activity.another("a\(number)").register(number, at: nil, aliases: [alias]) }
        try await activity.another("a1").end()
        let registry = activity.registry
        #expect(try await registry.endAll(under: alias, in: activity.scope, by: "test") == 4)
        // R1: a repetition writes again, because the standby may not have received the first end.
        let written: SQL = "SELECT max(touched_at)::text FROM activities"
        let before = try await activity.column(written)
        #expect(try await registry.endAll(under: alias, in: activity.scope, by: "test") == 0)
        #expect(try await activity.column(written) != before)
        #expect(try await activity.tokens(alias) == [])
        #expect(try await activity.another("a3").events() == ["registered", "ended"])
    }

    @Test func `An alias lists all start tokens page by page`() async throws {
        let (phone, alias) = (try await TestInstallation.make(0), Alias.sample("topic", "match-7"))
        var expected: Set<PushToken> = []
        for number in 1...7 {
            let other = phone.another(number)
            try await other.put([alias], at: .minutesAgo(60))
            for (index, type) in TestInstallation.types.enumerated() {
                try await other.register(number * 10 + index, in: .start(type), at: .minutesAgo(60))
                expected.insert(.sample(number * 10 + index))
            }
        }
        var (seen, sizes): ([PushToken], [Int]) = ([], [])
        var position = ListPosition.start
        let registry = phone.registry
        while true {
            let page = try await registry.tokens(under: alias, .start, after: position, limit: 5, in: phone.scope)
            guard let last = page.last else { break }
            seen += page.map(\.token)
            sizes.append(page.count)
            position = last.position
            // Rotations between pages do not move rows.
            expected.remove(.sample(10))
            try await phone.another(1).register(100 + sizes.count, at: nil)
        }
        #expect(sizes == [5, 5, 4])
        #expect(Set(seen).subtracting([.sample(10)]) == expected)
        #expect(seen.count == 14)
        let (type, scope) = (TestInstallation.types[1], phone.scope)
        let matches = try await registry.tokens(under: alias, .start, attributesType: type, limit: 100, in: scope)
        #expect(matches.count == 7)
        #expect(Set(matches.map(\.attributesType)) == ["Match"])
    }
}
