import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite struct ResolveTests {

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
                prepare: { found, _ in found },
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
                prepare: { found, _ in found.count },
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
        let written: SQL = "SELECT max(xmin::text::bigint)::text FROM activities"
        let before = try await activity.column(written)
        #expect(try await registry.endAll(under: alias, in: activity.scope, by: "test") == 0)
        #expect(try await activity.column(written) != before)
        #expect(try await activity.tokens(alias) == [])
        #expect(try await activity.another("a3").events() == ["registered", "ended"])
    }
}

@Suite(.timeLimit(.minutes(15))) struct ChannelTests {
    private let alias = Alias.sample("matchId", "7")

    private func channel(_ number: Int, _ policy: BroadcastChannel.StoragePolicy = .mostRecent) throws
        -> BroadcastChannel
    {
        let id = try BroadcastChannel.id(Data("channel-\(number)".utf8).base64EncodedString())
        return BroadcastChannel(stored: id, storagePolicy: policy)
    }

    @Test func `A channel is set, replaced, shown and deleted`() async throws {
        let database = try await TestDatabase.make()
        let (registry, scope) = (database.registry, try await database.scope())
        #expect(try await registry.channel(of: alias, in: scope) == nil)
        #expect(try await registry.put(channel(1), for: alias, in: scope, by: "test"))
        #expect(try await !registry.put(channel(1), for: alias, in: scope, by: "test"))
        #expect(try await !registry.put(channel(1, .none), for: alias, in: scope, by: "test"))
        #expect(try await registry.channel(of: alias, in: scope) == channel(1, .none))
        let other = Alias.sample("matchId", "8")
        let resolved = try await registry.resolve([other, alias], limitPerAlias: 1, in: scope)
        #expect(try resolved.map(\.channels) == [[], [channel(1, .none)]])
        #expect(try await registry.page(of: alias, after: 0, limit: 1, in: scope).channels == [channel(1, .none)])
        let production = try await database.scope("com.example.food", .production)
        #expect(try await registry.channel(of: alias, in: production) == nil)
        for _ in 0..<2 { try await registry.deleteChannel(of: alias, in: scope, by: "test") }
        #expect(try await registry.channel(of: alias, in: scope) == nil)
        let told: SQL = "SELECT type FROM events WHERE aliases @> '{\"matchId\": [\"7\"]}' ORDER BY event_number"
        #expect(try await database.column(told) == ["channel-set", "channel-set", "channel-deleted"])
    }

    @Test func `Distinct channels are counted`() async throws {
        let database = try await TestDatabase.make()
        let (registry, scope) = (database.registry, try await database.scope())
        func put(_ number: Int, for value: String) async throws -> Bool {
            let alias = Alias.sample("matchId", value)
            return try await registry.put(channel(number), for: alias, quota: 2, in: scope, by: "test")
        }
        #expect(try await put(1, for: "a"))
        #expect(try await put(2, for: "b"))
        // A channel with a second alias counts once, and a replaced channel frees its slot.
        #expect(try await put(2, for: "c"))
        #expect(try await !put(3, for: "a"))
        for value in ["d", "b"] {
            do {
                _ = try await put(4, for: value)
                Issue.record("the quota was exceeded")
            } catch let problem as Problem { #expect(problem.code == .channelQuota) }
        }
        #expect(try await put(3, for: "d"))
        try await registry.deleteChannel(of: .sample("matchId", "c"), in: scope, by: "test")
        #expect(try await !put(4, for: "b"))
    }

    @Test func `The quota holds for concurrent requests`() async throws {
        let database = try await TestDatabase.make()
        let (registry, scope) = (database.registry, try await database.scope())
        let taken = try await concurrently(0..<32) { number in
            let channel = try channel(number)
            let alias = Alias.sample("matchId", "\(number)")
            return (try? await registry.put(channel, for: alias, quota: 5, in: scope, by: "test")) ?? false
        }
        #expect(taken.count { $0 } == 5)
        #expect(try await database.rows(in: "channels") == 5)
    }

    @Test(arguments: ["", "=", "abc", "ab=c", "a===", "abc-", "YWJj ", "YWJ\u{E9}", String(repeating: "A", count: 132)])
    func `A text that is not Base64 is not a channel`(_ id: String) {
        #expect(throws: JSONFaultReason.self) { try BroadcastChannel.id(id) }
    }
}
