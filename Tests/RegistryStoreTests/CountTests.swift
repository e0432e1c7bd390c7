import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite struct CountTests {
    private let activity: TestActivity

    init() async throws { activity = try await TestActivity.make("a1") }

    private static func groups(_ counts: Counts) -> [Counts.Group: Int] {
        Dictionary(uniqueKeysWithValues: Counts.Group.all.map { ($0, counts[$0]) }).filter { $0.value > 0 }
    }

    private static func groups(_ totals: Totals, in environment: APNSEnvironment) -> [Counts.Group: Int] {
        totals.counts[environment, default: [:]].filter { $0.value > 0 }
    }

    /// The counts of the age groups that are not empty, by each group's end in seconds.
    private static func ages(_ ages: [RegistryStatistics.AgeGroup]) -> [Int64?: Int] {
        Dictionary(uniqueKeysWithValues: ages.map { ($0.upTo?.components.seconds, $0.count) }).filter { $0.value > 0 }
    }

    private func history(_ window: Duration) async throws -> [[String: Int]] {
        try await activity.registry.statistics(over: window, in: activity.scope).tokenCounts.map(\.counts)
    }

    @Test func `An empty registry has every group`() async throws {
        let totals = try await TestDatabase.make().registry.totals()
        #expect(totals.counts.count == 2 && totals.counts.values.allSatisfy { $0.count == 19 })
        #expect(totals.counts.values.allSatisfy { $0.values.allSatisfy { $0 == 0 } })
        #expect(totals.age == .zero)
        #expect(totals.sweepLag == .zero)
        #expect(totals.activeGuards == 0)
        #expect(totals.eventsWritten == 0)
    }

    @Test func `Activities and their tokens are counted by state and age`() async throws {
        let (database, scope) = (activity.database, activity.scope)
        for number in 1...9 { try await activity.another("a\(number)").register(number, at: .minutesAgo(30)) }
        try await activity.another("a2").end()
        #expect(try await activity.another("a3").report(3, 410) == .dropped)
        #expect(try await activity.another("a4").report(4, 400, "BadDeviceToken") == .quarantined)
        // a6 takes over the token of a5.
        try await activity.another("a6").register(5, at: .minutesAgo(20))
        let phone = InstallationHash.sample(1)
        try await activity.another("b1").register(20, at: .minutesAgo(30), installation: phone)
        try await activity.tellFullState(of: phone, at: .minutesAgo(5))
        let elsewhere = try await database.scope("com.example.taxi", .production)
        try await database.registry.registerSample("a1", token: 1, minutesAgo: 5, in: elsewhere)
        try await database.run("UPDATE activities SET confirmed_at = now()")
        try await database.script(
            """
            UPDATE activities SET started_at = earlier(started_at, '150 minutes'),
                expires_at = earlier(expires_at, '150 minutes'), confirmed_at = now() - interval '90 minutes'
            WHERE activity_id = 'a9'
            """
        )
        let counts = try await database.registry.counts(in: scope)
        #expect(
            Self.groups(counts) == [
                .activities(.active): 8, .activities(.ended): 1, .activities(.dismissed): 1,
                .tokens(.update, .current): 5, .tokens(.update, .quarantined): 1, .tokens(.update, .withheld): 2,
            ]
        )
        #expect(try await database.deliverableCount(in: scope) == 5 && !counts.isEstimated)
        #expect(Self.ages(counts.ages(of: .tokens(.update, .current))) == [900: 4, 7200: 1])
        #expect(Self.ages(counts.ages(of: .activities(.active), .activities(.dismissed))) == [3600: 8, 14_400: 1])
        try await database.registry.counts(in: elsewhere)
        let totals = try await database.registry.totals()
        #expect(Self.groups(totals, in: .sandbox) == Self.groups(counts))
        #expect(Self.groups(totals, in: .production) == [.activities(.active): 1, .tokens(.update, .current): 1])
        #expect(try await activity.rows(in: "events") == totals.eventsWritten)
    }

    @Test func `Tokens of installations are counted by state`() async throws {
        let phone = activity.installation(1)
        for number in 1...5 {
            try await phone.another(number).register(number, at: .minutesAgo(30))
            try await phone.another(number).register(number + 50, in: TestInstallation.device, at: .minutesAgo(30))
        }
        try await phone.suspect([1, 51])
        try await phone.another(2).logOut(at: .minutesAgo(1))
        try await phone.another(3).delete(at: .minutesAgo(1))
        // Installation 4 takes over the device token of installation 5.
        try await phone.another(4).register(55, in: TestInstallation.device, at: .minutesAgo(10))
        let counts = try await phone.registry.counts(in: phone.scope)
        for kind in [TokenKind.start, .device] {
            #expect(counts[.tokens(kind, .current)] == 2)
            #expect(counts[.tokens(kind, .quarantined)] == 1)
        }
        let current = try await phone.column("SELECT kind FROM deliverable_installation_tokens ORDER BY kind")
        #expect(current == ["device", "device", "start", "start"])
    }

    @Test func `The lag of the sweep is the age of its oldest due row`() async throws {
        try await activity.register(1, at: .minutesAgo(5))
        #expect(try await activity.registry.totals().sweepLag == .zero)
        try await activity.age(by: "9 hours")
        let lag = try await activity.registry.totals().sweepLag
        // The activity began 9 hours and 5 minutes ago, and its lifetime is 8 hours.
        #expect((.seconds(3900) ..< .seconds(4000)).contains(lag))
        #expect(try await activity.sweep(.expiry) == 1)
        #expect(try await activity.registry.totals().sweepLag == .zero)
        #expect(Self.groups(try await activity.registry.counts(in: activity.scope)) == [.activities(.expired): 1])
    }

    @Test func `Active burst guards are counted`() async throws {
        for number in 1...5 { try await activity.another("a\(number)").register(number, at: .minutesAgo(30)) }
        try await activity.suspect(1...5)
        #expect(try await activity.registry.totals().activeGuards == 1)
    }

    @Test func `Statistics contain the current counts and the history of tokens`() async throws {
        let (database, scope) = (activity.database, activity.scope)
        for number in 1...3 { try await activity.another("a\(number)").register(number, at: .minutesAgo(5)) }
        try await activity.another("a1").end()
        try await activity.installation(1).register(10, in: TestInstallation.device, at: .minutesAgo(5))
        let statistics = try await database.registry.statistics(over: .seconds(3600), in: scope)
        #expect(statistics.activities == ["active": 2, "ended": 1])
        #expect(Self.ages(statistics.activityAges) == [900: 2])
        let current: [TokenKind: Int] = [.update: 2, .device: 1]
        #expect(statistics.tokens.map(\.count) == TokenKind.all.map { current[$0] ?? 0 })
        #expect(statistics.tokens.allSatisfy { $0.ages.map(\.count).reduce(0, +) == $0.count })
        #expect(statistics.tokenCounts.map(\.counts) == [["update": 2, "device": 1]])
        #expect(statistics.tokenCounts.map(\.start) == [statistics.computedAt])
        // An empty count is stored, too.
        let elsewhere = try await database.scope("com.example.taxi", .production)
        let other = try await database.registry.statistics(over: .seconds(3600), in: elsewhere)
        #expect(other.activities == [:])
        #expect(other.tokenCounts.map(\.counts) == [[:]])
    }

    @Test func `A scope is counted once a minute by a single instance`() async throws {
        let registry = activity.registry
        try await activity.register(1, at: .minutesAgo(5))
        let registries = (0..<4).map { _ in activity.database.anotherRegistry(maximumConnections: 2) }
        let answers = try await Set(concurrently(registries) { try await $0.counts(in: activity.scope) })
        let rows = try await activity.rows(in: "counts")
        // A minute may have passed meanwhile.
        #expect((1...2).contains(rows))
        #expect(answers.count <= rows)
        // Moves the counts to a later minute, so that nothing is counted again.
        try await activity.database.run("UPDATE counts SET counted_at = earlier(counted_at, '-1 hour')")
        try await activity.another("b").register(2, at: .minutesAgo(5))
        #expect(try await registry.counts(in: activity.scope)[.activities(.active)] == 1)
        try await activity.database.run("UPDATE counts SET counted_at = earlier(counted_at, '65 minutes')")
        #expect(try await registry.counts(in: activity.scope)[.activities(.active)] == 2)
        #expect(try await history(.seconds(3600)).suffix(2) == [["update": 1], ["update": 2]])
    }

    @Test func `Older counts are thinned out to one per five minutes, and later to one per hour`() async throws {
        let day = 24 * 60
        // Minutes before this hour: two days ago, today, and before the retention of counts.
        let old = [2 * day + 5, 2 * day, 2 * day - 5, 2 * day - 55, 32 * day]
        let young = [180, 179, 176, 175, 125]
        // Read once, because the next hour may begin meanwhile.
        let thisHour = Date(timeIntervalSince1970: (Date().timeIntervalSince1970 / 3600).rounded(.down) * 3600)
        try await activity.database.run(
            """
            INSERT INTO counts
            SELECT \(activity.scope.id), \(thisHour) - age.minutes * interval '1 minute', false,
                '{"update": {"current": [7, 0, 0, 0, 0, 0, 0, 0, 0]}, "later-kind": {"current": [1]}}'
            FROM unnest(\(old + young)) AS age (minutes)
            """
        )
        let now = Date()
        try await activity.database.run(
            """
            INSERT INTO counts SELECT \(activity.scope.id), \(now) - n * interval '1 minute', false, '{}'
            FROM generate_series(1, 50) AS n
            """
        )
        try await activity.registry.counts(in: activity.scope)
        let kept = try await activity.column(
            """
            SELECT (extract(epoch FROM \(thisHour) - counted_at)::int / 60)::text
            FROM counts WHERE ages <> '{}' ORDER BY counted_at
            """
        )
        #expect(kept == [2 * day + 5, 2 * day - 55, 176, 175, 125].map(String.init))
        #expect(try await activity.count("SELECT count(*) FROM counts WHERE ages = '{}'") == 51)
        let month = try await history(.seconds(30 * 86_400))
        #expect(month.count == 56 && month.first == ["update": 7, "later-kind": 1] && month.last == [:])
        #expect(try await history(.seconds(3600)).first == [:])
    }

    @Test func `The age of the totals is the age of the oldest counts`() async throws {
        let (database, registry) = (activity.database, activity.registry)
        try await activity.register(1, at: .minutesAgo(5))
        for environment in APNSEnvironment.allCases {
            try await registry.counts(in: Scope(app: activity.scope.app, environment: environment))
        }
        #expect(try await registry.totals().age < .seconds(120))
        try await database.run(
            "UPDATE counts SET counted_at = earlier(counted_at, '2 hours') WHERE scope_id = \(activity.scope.id)"
        )
        let old = try await registry.totals()
        #expect(old.age >= .seconds(7200) && Self.groups(old, in: .sandbox)[.activities(.active)] == 1)
        // The counts of an app that was never counted are as old as the app.
        try await registry.counts(in: activity.scope)
        _ = try await database.scope("com.example.taxi")
        #expect(try await registry.totals().age < .seconds(120))
        try await database.run("UPDATE apps SET created_at = earlier(created_at, '3 hours')")
        #expect(try await registry.totals().age >= .seconds(10_800))
    }
}

/// Large tables are counted by samples, with a constant cost and a small error.
@Suite struct TableSampleTests {
    @Test func `The estimates for a large registry are near the counts`() async throws {
        let count = TestScale.isLong ? 400_000 : 100_000
        let database = try await TestDatabase.make(requestTimeout: .seconds(900))
        let scope = try await database.scope()
        try await QueryPlanFilling.fill(database, scope, count: count)
        try await database.pool.withSession { session in
            try session.simple("SET statement_timeout = 0")
            _ = try session.execute(QueryPlanFilling.events)
            try session.simple("VACUUM ANALYZE activities, token_values, installation_tokens, events")
        }
        let statistics = try await database.registry.statistics(over: .seconds(86_400), in: scope)
        #expect(statistics.isEstimated)
        // The sample has each page with a probability of 1/16 in the long run: about 1,250 of 20,000 pages. Four standard
        // deviations are 11 percent.
        func isNear(_ estimate: Int?, _ number: Int, _ percent: Int) -> Bool {
            let most = number * (TestScale.isLong ? percent : 20) / 100
            return estimate.map { (number - most...number + most).contains($0) } ?? false
        }
        let active = statistics.activities["active"]
        #expect(isNear(active, count, 11), "\(active ?? 0)")
        // An estimate practically never equals the exact number.
        #expect(active != count)
        let tokens = Dictionary(uniqueKeysWithValues: statistics.tokens.map { ($0.kind, $0.count) })
        #expect(tokens[.update] == active)
        // A page has tokens of one kind, so a few hundred pages give each kind's count within about a tenth.
        #expect(isNear(tokens[.start], count / 3 * 2, 10), "\(tokens)")
        #expect(statistics.steps.compactMap { $0.counts["dropped"] }.reduce(0, +) == count / 100)
        let registered = statistics.steps.compactMap { $0.counts["registered"] }.reduce(0, +)
        #expect(isNear(registered, count, 10), "\(registered)")
    }

    @Test func `Few rows among many of another app are counted exactly`() async throws {
        let database = try await TestDatabase.make(requestTimeout: .seconds(900))
        try await QueryPlanFilling.fill(database, try await database.scope(), count: 100_000)
        let small = try await database.scope("com.example.small")
        for number in 1...3 { try await database.registry.registerSample("a\(number)", token: number, in: small) }
        let counts = try await database.registry.counts(in: small)
        #expect(counts[.activities(.active)] == 3 && counts[.tokens(.update, .current)] == 3 && !counts.isEstimated)
    }

    /// Postgres may have analyzed an empty table; counting must not read the whole table because of that.
    @Test func `The size of a table that has grown since its last ANALYZE is estimated`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        try await database.script("VACUUM ANALYZE activities")
        try await database.run(QueryPlanFilling.activityRows(scope, 1...20_000))
        func estimate() async throws -> Double {
            try await database.pool.withSession { try TableSizes.rows(of: "activities", holding: scope.id, $0) }
        }
        #expect(try await (5000...80_000).contains(estimate()))
        try await database.script("ANALYZE activities")
        #expect(try await (19_000...21_000).contains(estimate()))
        try await database.script("TRUNCATE activities CASCADE")
        #expect(try await estimate() == 0)
    }
}
