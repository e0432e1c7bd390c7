import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite(.timeLimit(.minutes(5))) struct SearchTests {
    @Test func `A search finds rows by each term`() async throws {
        let activity = try await TestActivity.make("a-1")
        let alias = Alias.sample("liveactivityId", "order-42")
        try await activity.register(1, at: .minutesAgo(5), installation: .sample(7), aliases: [alias])
        try await activity.another("a-2").register(2, at: .minutesAgo(4), installation: .sample(8))
        try await activity.another("a-2").end(at: .minutesAgo(1))
        let digests: SQL = "SELECT token_digest FROM activities WHERE activity_id = 'a-1'"
        let digest = try await activity.database.column(digests, as: [UInt8].self)[0]
        let hash = InstallationHash.sample(7).bytes
        func find(_ search: ActivitySearch) async throws -> [UTF8Text] {
            try await activity.registry.findActivities([search], limit: 10, in: activity.scope)
                .map(\.activityID.rawValue)
        }
        for search in [
            ActivitySearch.id("a-1"), .alias(kind: nil, value: "order-42"),
            .alias(kind: "liveactivityId", value: "order-42"), .fingerprint(Array(digest.prefix(4))),
            .fingerprint(digest), .installation(Array(hash.prefix(1))), .installation(hash), .running,
        ] { #expect(try await find(search) == ["a-1"], "\(search)") }
        #expect(try await find(.over) == ["a-2"])
        for search in [
            ActivitySearch.id("a-3"), .alias(kind: "userId", value: "order-42"), .alias(kind: nil, value: "order"),
            .fingerprint([0, 0, 0, 0]), .installation([0xFE]),
        ] { #expect(try await find(search) == [], "\(search)") }
        let other = Scope(app: activity.scope.app, environment: .production)
        #expect(try await activity.registry.findActivities([.id("a-1"), .running], limit: 10, in: other) == [])
        // A record found in two ways is listed once.
        let both = try await activity.registry.findActivities([.id("a-1"), .running], limit: 9, in: activity.scope)
        #expect(both.count == 1)
    }

    @Test func `An activity's audit page has the withheld tokens`() async throws {
        let activity = try await TestActivity.make("a-1")
        try await activity.register(1, at: .minutesAgo(5), aliases: [.sample("userId", "u-7")])
        try await activity.register(2, at: .minutesAgo(4))
        let found = try await activity.registry.life(of: activity.id, events: 1, in: activity.scope)
        let life = try #require(found)
        #expect(life.explanation.facts.availability == .handedOut)
        #expect(life.retired.map(\.reason) == ["rotated"])
        #expect(life.events.map(\.type) == ["rotated"])
        #expect(life.hasMoreEvents)
        #expect(String(decoding: life.aliases ?? [], as: UTF8.self).contains("u-7"))
        #expect(try await activity.registry.life(of: .sample("b"), events: 1, in: activity.scope) == nil)
    }

    @Test func `Each page begins after the last row of the page before`() async throws {
        let activity = try await TestActivity.make()
        let (registry, scope) = (activity.registry, activity.scope)
        for number in 1...5 {
            let profile = InstallationProfile(aliases: nil, observedAt: nil)
            _ = try await registry.put(profile, for: .sample(number), in: scope, by: "test")
            let channel = try BroadcastChannel(id: number < 3 ? "AAAA" : "BBBB", storagePolicy: .none)
            _ = try await registry.put(channel, for: .sample("k", "v-\(number)"), in: scope, by: "test")
        }
        func installations() async throws -> [InstallationHash] {
            var (position, seen): ((Date, InstallationHash)?, [InstallationHash]) = (nil, [])
            while true {
                let page = try await registry.installations(after: position, limit: 2, in: scope)
                seen += page.map(\.installation)
                guard let last = page.last else { return seen }
                position = (last.touchedAt, last.installation)
            }
        }
        #expect(try await installations() == (1...5).reversed().map { .sample($0) })
        // Rows touched in the same microsecond stay together.
        try await activity.database.run("UPDATE installations SET touched_at = '2026-01-01'")
        let tied = try await installations()
        #expect(tied.count == 5)
        #expect(Set(tied).count == 5)
        let first = try await registry.channels(limit: 3, in: scope)
        let rest = try await registry.channels(after: first.last?.alias, limit: 3, in: scope)
        #expect((first + rest).map(\.alias.value) == (1...5).map { "v-\($0)" })
        #expect(try await registry.channelCounts(in: scope) == (5, 2))
        #expect(try await registry.isUsed(scope))
        #expect(try await !registry.isUsed(Scope(app: scope.app, environment: .production)))
        let health = try await registry.health()
        #expect(health.tables.contains { $0.name == "activities" } && health.condition.connectionLimit > 0)
        #expect(health.migrations.last?.version == SchemaMigrator.currentVersion)
    }

}
