import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// Prints the duration of a plan and of a resolve with equal phones; 100,000 with `PUSHREG_TEST_LONG=1`.
@Suite(.serialized, .timeLimit(.minutes(15))) struct PlanFigureTests {
    private static let order = Alias.sample("liveactivityId", "match-7")
    private static let fans = Alias.sample("team", "t-7")

    @Test(arguments: [100, TestScale.isLong ? 100_000 : 5000])
    func `A plan of many phones is complete`(_ count: Int) async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await database.addInstallations(1...count, under: Self.fans, startToken: .sample(7), in: scope)
        try await database.registry.analyzeTables()
        let lists = try await Self.time { try await Self.startTokens(database, scope) }
        let starts = try await Self.time { try await Self.plan(database, scope, "plan-1")["start"] }
        let again = try await Self.time { try await Self.plan(database, scope, "plan-1")["start"] }
        let waits = try await Self.time { try await Self.plan(database, scope, "plan-2")["wait"] }
        #expect(Set([lists.count, starts.count, again.count, waits.count]) == [count])
        try await database.addActivities(1...count, under: Self.order, at: .minutesAgo(1), in: scope)
        // Activity n is on installation n.
        try await database.run("UPDATE activities SET installation_hash = sha256(token)")
        try await database.registry.analyzeTables()
        let resolved = try await Self.time { try await Self.resolve(database, scope) }
        let updates = try await Self.time { try await Self.plan(database, scope, "plan-3")["update"] }
        #expect(Set([resolved.count, updates.count]) == [count])
        print(
            """
            figure: of \(count) phones by pages of 1000: list of start tokens \(lists.time), plan that starts all \(starts.time), \
            the same plan again \(again.time), another that waits for all \(waits.time); \
            resolve of as many activities \(resolved.time), plan that updates all \(updates.time)
            """
        )
    }

    private static func time(_ call: () async throws -> Int?) async throws -> (count: Int, time: Duration) {
        let start = ContinuousClock.now
        let count = try await call() ?? 0
        return (count, start.duration(to: .now))
    }

    private static func plan(_ database: TestDatabase, _ scope: Scope, _ planID: UTF8Text) async throws -> [String: Int]
    {
        var request = PlanRequest(alias: order, to: [fans], attributesType: TestInstallation.types[1])
        request.planID = planID
        request.limit = 1000
        var (position, counts) = (ListPosition?.some(.start), [String: Int]())
        while let place = position {
            let page = try await database.registry.plan(request, after: place, in: scope, by: "sender")
            for entry in page.entries { counts[entry.decision.action, default: 0] += 1 }
            position = page.next
        }
        return counts
    }

    private static func startTokens(_ database: TestDatabase, _ scope: Scope) async throws -> Int {
        var (position, count) = (ListPosition?.some(.start), 0)
        while let place = position {
            let page = try await database.registry.tokens(under: fans, .start, after: place, limit: 1000, in: scope)
            count += page.count
            position = page.last?.position
        }
        return count
    }

    private static func resolve(_ database: TestDatabase, _ scope: Scope) async throws -> Int {
        var (key, count) = (Int64?.some(0), 0)
        while let last = key {
            let page = try await database.registry.activities(under: order, after: last, limit: 1000, in: scope)
            count += page.count
            key = page.last?.key
        }
        return count
    }
}
