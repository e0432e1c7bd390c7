import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import TestSupport
import Testing

@testable import RegistryStore

/// The limits of the work that one caller can cause for others, each at its edge.
@Suite struct BoundTests {
    private let t0 = Date.minutesAgo(60)

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    // MARK: Installations

    @Test func `An installation has start tokens of a limited number of types`() async throws {
        let phone = try await TestInstallation.make()
        let most = InstallationToken.mostAttributesTypes
        func slot(_ number: Int) throws -> TokenSlot { .start(try AttributesType("Type\(number)")) }
        for number in 1..<most { try await phone.register(number, in: slot(number), at: t0) }
        // The tombstone of a deleted token counts, too.
        try await phone.delete(slot(most), at: t0)
        let next = try slot(most + 1)
        let refused = await phone.problem { try await phone.register(1, in: next, at: t0) }
        #expect(refused?.code == .invalidRequest)
        #expect(refused?.errors.map(\.pointer) == ["/attributesType"])
        #expect(await phone.problem { try await phone.delete(next, at: t0) }?.code == .invalidRequest)
        #expect(try await phone.rows(in: "installation_tokens") == most)
        #expect(try await phone.register(8, in: slot(most), at: after(1)).outcome == .registered)
    }

    @Test func `A log-out ends very many activities in pages`() async throws {
        let phone = try await TestInstallation.make()
        let registry = phone.registry
        try await phone.database.addActivities(1...2_345, of: phone.hash, at: t0, in: phone.scope)
        let late = phone.activity("late")
        try await late.register(1_000_000, at: after(2), installation: phone.hash)
        try await phone.logOut(at: after(1))
        #expect(try await phone.count("SELECT count(*) FROM activities WHERE ended_at IS NULL") == 1)
        #expect(try await phone.count("SELECT count(*) FROM events WHERE type = 'ended'") == 2345)
        #expect(try await late.currentToken() == .sample(1_000_000))
        #expect(try await registry.activity(.sample("bulk-2345"), in: phone.scope)?.status.endedAt == after(1))
        try await phone.logOut(at: after(1))
        #expect(try await phone.count("SELECT count(*) FROM events WHERE type = 'ended'") == 2345)
    }

    @Test func `The activities of a large alias are ended in pages`() async throws {
        let activity = try await TestActivity.make()
        let (alias, registry) = (Alias.sample("matchId", "7"), activity.registry)
        try await activity.database.addActivities(1...2_345, under: alias, at: t0, in: activity.scope)
        #expect(try await registry.endAll(under: alias, in: activity.scope, by: "test") == 2_345)
        #expect(try await activity.count("SELECT count(*) FROM activities WHERE ended_at IS NULL") == 0)
        #expect(try await activity.count("SELECT count(*) FROM events WHERE type = 'ended'") == 2_345)
        #expect(try await registry.endAll(under: alias, in: activity.scope, by: "test") == 0)
    }

    // MARK: Resolve

    @Test func `A response has a limited number of activities`() async throws {
        let activity = try await TestActivity.make()
        let (crowd, few) = (Alias.sample("matchId", "7"), Alias.sample("matchId", "8"))
        let (registry, scope) = (activity.registry, activity.scope)
        try await activity.database.addActivities(1...3000, under: crowd, at: t0, in: scope)
        try await activity.register(1_000_000, at: t0, aliases: [few])
        // Each repetition of an alias counts towards the limit, although the alias is looked up once.
        let repeated = [Alias](repeating: crowd, count: 12) + [few]
        let found = try await registry.resolve(repeated, limitPerAlias: 1000, in: scope)
        #expect(found.map(\.alias) == repeated)
        #expect(found.map(\.activities.count) == [Int](repeating: 1000, count: 10) + [0, 0, 0])
        #expect(found.filter(\.isTruncated).count == repeated.count)
        // The query returns at most 10,000 rows, so the later aliases are truncated.
        let aliases = (0..<12).map { Alias.sample("matchId", "other-\($0)") }
        for (index, alias) in aliases.enumerated() {
            try await activity.database.run(
                """
                INSERT INTO activity_aliases (scope_id, kind, value, ended, activity_key)
                SELECT scope_id, kind, \(alias.value), false, activity_key FROM activity_aliases
                WHERE value = '7' ORDER BY activity_key LIMIT \(index == 11 ? 1 : 950)
                """
            )
        }
        let cut = try await registry.resolve([few] + aliases + [few], limitPerAlias: 1000, in: scope)
        #expect(cut.map(\.activities.count) == [1] + [Int](repeating: 950, count: 10) + [499, 0, 0])
        #expect(cut.map(\.isTruncated) == [Bool](repeating: false, count: 11) + [true, true, true])
        // With a smaller limit per alias, the last alias still gets its activity.
        let short = try await registry.resolve([few] + aliases, limitPerAlias: 100, in: scope)
        #expect(short.map(\.activities.count) == [1] + [Int](repeating: 100, count: 11) + [1])
        #expect(short.map(\.isTruncated) == [false] + [Bool](repeating: true, count: 11) + [false])
    }

    // MARK: The sweep

    @Test func `Tombstones of very many tokens are removed in pages`() async throws {
        let activity = try await TestActivity.make()
        let (registry, scope) = (activity.registry, activity.scope)
        try await activity.register(1_000_000, at: t0)
        try await activity.end()
        try await activity.database.run(
            """
            INSERT INTO token_values (scope_id, token_digest, activity_id, activity_key, observed_at)
            SELECT a.scope_id, sha256(int8send(n)), a.activity_id, a.activity_key, a.token_observed_at
            FROM activities a CROSS JOIN generate_series(1::bigint, 25000) AS n
            """
        )
        try await activity.age(by: "30 days")
        var left: [Int] = []
        for _ in 0..<3 {
            left.append(try await activity.rows(in: "token_values"))
            #expect(try await registry.sweep(.tombstones, limit: 100, in: scope) == (left.count < 3 ? 100 : 1))
        }
        #expect(left == [25_001, 15_001, 5001])
        #expect(try await registry.sweep(.tombstones, limit: 100, in: scope) == 0)
        for table in ["activities", "token_values"] {
            #expect(try await activity.rows(in: table) == 0, "\(table)")
        }
    }
}
