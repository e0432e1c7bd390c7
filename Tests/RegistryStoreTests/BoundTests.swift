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

    @Test func `An export reads all pages`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        let (alias, count) = (Alias.sample("orderId", "42"), 2 * Registry.exportPageSize + 1)
        try await database.addActivities(1...count, at: t0, in: scope)
        try await database.addInstallations(1...count, under: alias, startToken: .sample(7), in: scope)
        try await database.run("UPDATE installations SET removed_at = \(t0)")
        try await database.run(
            """
            INSERT INTO alias_identities (scope_id, alias, owner, ended_at)
            SELECT \(scope.id), n::text, 'app', now() FROM generate_series(1, \(count)) AS n
            """
        )
        var records: [String: Int] = [:]
        try await database.registry.export(in: scope) { records[$0.part, default: 0] += $0.records.count }
        #expect(records == ["installations": count, "activities": count, "names": count, "tokens": count])
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

    @Test func `Tombstones of very many tokens are removed in pages`() async throws {
        let activity = try await TestActivity.make()
        let (registry, scope) = (activity.registry, activity.scope)
        try await activity.register(1_000_000, at: t0)
        try await activity.end()
        try await activity.database.run(
            """
            INSERT INTO token_values (scope_id, token_digest, activity_id, activity_key, observed_at)
            SELECT a.scope_id, substr(sha256(int8send(n)), 1, 15), a.activity_id, a.activity_key, a.token_observed_at
            FROM activities a CROSS JOIN generate_series(1::bigint, 25000) AS n
            """
        )
        try await activity.age(by: "30 days")
        var left: [Int] = []
        for _ in 0..<3 {
            left.append(try await activity.rows(in: "token_values"))
            #expect(try await registry.sweep(.tombstones, limit: 100, in: scope).count == (left.count < 3 ? 100 : 1))
        }
        #expect(left == [25_001, 15_001, 5001])
        #expect(try await registry.sweep(.tombstones, limit: 100, in: scope).count == 0)
        for table in ["activities", "token_values"] { #expect(try await activity.rows(in: table) == 0, "\(table)") }
    }
}

@Suite(.timeLimit(.minutes(15))) struct WithheldPageTests {
    private static let alias = Alias.sample("orderId", "crowded")

    /// The withheld activities come first.
    private static func make(withheld: Int, current: Int) async throws -> TestActivity {
        let first = try await TestActivity.make()
        try await first.database.addActivities(1...withheld, under: alias, at: .minutesAgo(5), in: first.scope)
        try await first.database.run("UPDATE activities SET token = NULL")
        for number in 1...current { try await first.another("a\(number)").register(number, at: nil, aliases: [alias]) }
        return first
    }

    private static func firstPage(_ limit: Int, _ activity: TestActivity) async throws -> AliasPage {
        try await activity.registry.page(of: alias, after: 0, limit: limit, in: activity.scope)
    }

    @Test func `A page skips withheld tokens and is filled with later ones`() async throws {
        let activity = try await Self.make(withheld: 1500, current: 3)
        let (registry, scope) = (activity.registry, activity.scope)
        let first = try await Self.firstPage(2, activity)
        #expect(first.activities.map(\.token) == [.sample(1), .sample(2)])
        let rest = try await registry.page(of: Self.alias, after: #require(first.next), limit: 2, in: scope)
        #expect(rest.activities.map(\.token) == [.sample(3)])
        #expect(rest.next == nil)
        let all = try await Self.firstPage(3, activity)
        #expect(all.activities.count == 3)
        #expect(all.next == nil)
    }

    @Test func `A batch skips withheld tokens and has the cursor of the rest`() async throws {
        let activity = try await Self.make(withheld: 1500, current: 3)
        for (limit, isTruncated) in [(2, true), (3, false)] {
            let found = try await activity.registry.resolve(
                [.sample("orderId", "none"), Self.alias],
                limitPerAlias: limit,
                in: activity.scope
            )
            #expect(found.map(\.activities.count) == [0, limit])
            #expect(found.map(\.isTruncated) == [false, isTruncated])
        }
    }

    @Test func `A page skips a limited number of withheld tokens, and the next page continues`() async throws {
        let activity = try await Self.make(withheld: Registry.mostWithheld + 500, current: 1)
        let (registry, scope) = (activity.registry, activity.scope)
        let first = try await Self.firstPage(100, activity)
        #expect(first.activities.isEmpty)
        let second = try await registry.page(of: Self.alias, after: #require(first.next), limit: 100, in: scope)
        #expect(second.activities.map(\.token) == [.sample(1)])
        #expect(second.next == nil)
        #expect(try await registry.activities(under: Self.alias, limit: 100, in: scope) == second.activities)
        let batch = try await registry.resolve([Self.alias], limitPerAlias: 100, in: scope)
        #expect(batch.map(\.activities.count) == [0] && batch.map(\.isTruncated) == [true])
    }

    @Test func `A page of a plan skips ended activities, too`() async throws {
        let plan = try await TestPlan.make()
        // These activities have expired without a sweep.
        let crowd = 1...(PlanUnit.mostBearers + 500)
        try await plan.database.addActivities(crowd, under: plan.order, at: .minutesAgo(600), in: plan.scope)
        try await plan.register(token: 11)
        let pages = try await plan.pages(of: plan.request())
        #expect(pages.flatMap(\.entries).compactMap { $0.decision.updated?.token } == [.sample(11)])
        #expect(pages.count == 2)
    }
}
