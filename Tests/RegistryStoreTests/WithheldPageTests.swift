import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

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
        var (position, tokens, pages) = (ListPosition?.some(.start), [PushToken](), 0)
        while let start = position {
            let page = try await plan.registry.plan(plan.request(), after: start, in: plan.scope, by: "sender")
            tokens += page.entries.compactMap { $0.decision.updated?.token }
            (position, pages) = (page.next, pages + 1)
        }
        #expect(tokens == [.sample(11)])
        #expect(pages == 2)
    }
}
