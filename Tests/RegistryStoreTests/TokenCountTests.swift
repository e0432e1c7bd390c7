import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// How many tokens there were, as charts of the console show it.
@Suite struct TokenCountTests {
    private static func counts(_ activity: TestActivity) async throws -> [[String: Int]] {
        try await activity.database.registry.statistics(over: .seconds(3600), in: activity.scope).tokenCounts
            .map(\.counts)
    }

    /// Rows of the past: minutes before an hour, each a multiple of five minutes.
    private static func remember(_ ages: [Int], before hour: Date, _ activity: TestActivity) async throws {
        try await activity.database.run(
            """
            INSERT INTO token_counts
            SELECT \(activity.scope.app.number), 'sandbox',
                \(hour) - age.minutes * interval '1 minute', '{"update": 7}'
            FROM unnest(\(ages)) AS age (minutes)
            """
        )
    }

    @Test("Each kind is counted and what is over is not") func eachKindIsCountedAndWhatIsOverIsNot() async throws {
        let activity = try await TestActivity.make("a1")
        let (database, scope) = (activity.database, activity.scope)
        for number in 1...6 { try await activity.another("a\(number)").register(number, at: .minutesAgo(5)) }
        try await activity.another("a1").end()
        _ = try await activity.another("a2").report(2, 410)
        try await activity.database.run(
            """
            UPDATE activities SET started_at = earlier(started_at, '9 hours'), expires_at = earlier(expires_at, '9 hours')
            WHERE activity_id = 'a3'
            """
        )
        let phone = TestInstallation(database: database, scope: scope, hash: .sample(1))
        try await phone.register(10, in: TestInstallation.device, at: .minutesAgo(5))
        try await phone.register(11, at: .minutesAgo(5))
        // An activity that a whole state of its installation leaves out is over, too.
        try await activity.another("b1").register(20, at: .minutesAgo(5), installation: phone.hash)
        let nothing = FullState(observedAt: .minutesAgo(1), items: [])
        _ = try await database.registry.apply(nothing, of: phone.hash, in: scope, by: "test")
        let elsewhere = try await database.scope("com.example.taxi", .production)
        #expect(try await database.registry.recordTokenCounts())
        #expect(try await Self.counts(activity) == [["update": 3, "device": 1, "start": 1]])
        let statistics = try await database.registry.statistics(over: .seconds(3600), in: scope)
        let now = Dictionary(uniqueKeysWithValues: statistics.tokens.map { ($0.kind.name, $0.count) })
        #expect(statistics.tokenCounts.map(\.counts) == [now.filter { $0.value > 0 }])
        // That there was nothing is known, too.
        let other = try await database.registry.statistics(over: .seconds(3600), in: elsewhere)
        #expect(other.tokenCounts.map(\.counts) == [[:]])
    }

    @Test("Tokens are counted once in five minutes, whoever does it") func onceInFiveMinutesWhoeverDoesIt() async throws
    {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: .minutesAgo(5))
        let registries = (0..<4).map { _ in activity.database.anotherRegistry(maximumConnections: 2) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for registry in registries { group.addTask { try await registry.recordTokenCounts() } }
            try await group.waitForAll()
        }
        // Five minutes may have passed meanwhile.
        let rows = try await activity.count("SELECT count(*) FROM token_counts WHERE environment = 'sandbox'")
        #expect((1...2).contains(rows))
        try await activity.database.run("UPDATE token_counts SET counted_at = earlier(counted_at, '5 minutes')")
        #expect(try await activity.database.registry.recordTokenCounts())
        #expect(try await Self.counts(activity).suffix(2) == [["update": 1], ["update": 1]])
        // An app of which nothing is known is due at once.
        #expect(try await activity.database.registry.recordTokenCounts() == false)
        _ = try await activity.database.scope("com.example.taxi")
        #expect(try await activity.database.registry.recordTokenCounts())
    }

    @Test("Of old hours the last is kept") func ofOldHoursTheLastIsKept() async throws {
        let activity = try await TestActivity.make()
        let day = 24 * 60
        // Three of an hour two days ago, one of the hour before it, three of an hour of today, and one too old.
        let (old, young) = ([2 * day, 2 * day - 5, 2 * day - 55, 2 * day + 5], [180, 175, 125])
        // Taken once: the next may begin meanwhile.
        let thisHour = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 / 3600).rounded(.down) * 3600)
        try await Self.remember(old + young + [32 * day], before: thisHour, activity)
        try await activity.database.registry.recordTokenCounts()
        let kept = try await activity.column(
            """
            SELECT (extract(epoch FROM \(thisHour) - counted_at)::int / 60)::text
            FROM token_counts WHERE environment = 'sandbox' AND counts <> '{}' ORDER BY counted_at
            """
        )
        #expect(kept == [2 * day + 5, 2 * day - 55, 180, 175, 125].map(String.init))
        let month = try await activity.database.registry.statistics(over: .seconds(30 * 86_400), in: activity.scope)
        #expect(month.tokenCounts.count == 6 && month.tokenCounts[0].counts == ["update": 7])
        let hour = try await activity.database.registry.statistics(over: .seconds(3600), in: activity.scope)
        #expect(hour.tokenCounts.map(\.counts) == [[:]])
    }
}
