import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// The metrics of the registry: counted as the rules have it.
@Suite struct CensusTests {
    private static func tokens(_ census: Census, _ kind: TokenKind) -> [Census.TokenState: Int] {
        let mine = census.tokens.filter { $0.key.kind == kind.name && $0.key.environment == .sandbox && $0.value > 0 }
        return Dictionary(uniqueKeysWithValues: mine.map { ($0.key.state, $0.value) })
    }

    private static func states(_ census: Census, in environment: APNSEnvironment) -> [ActivityState: Int] {
        let mine = census.activities.filter { $0.key.environment == environment && $0.value > 0 }
        return Dictionary(uniqueKeysWithValues: mine.map { ($0.key.state, $0.value) })
    }

    @Test("An empty registry has every group") func anEmptyRegistryHasEveryGroup() async throws {
        let census = try await TestDatabase.make().registry.census()
        #expect(census.activities.count == 8 && census.tokens.count == 24)
        #expect(census.activities.values.allSatisfy { $0 == 0 } && census.tokens.values.allSatisfy { $0 == 0 })
        #expect(census.sweepLag == .zero && census.activeGuards == 0 && census.eventsWritten == 0)
    }

    @Test("Activities and their tokens are counted by state") func activitiesAndTheirTokensAreCountedByState()
        async throws
    {
        let activity = try await TestActivity.make("a1")
        for number in 1...9 { try await activity.another("a\(number)").register(number, at: .minutesAgo(30)) }
        try await activity.another("a2").end()
        #expect(try await activity.another("a3").report(3, 410) == .dropped)
        #expect(try await activity.another("a4").report(4, 400, "BadDeviceToken") == .quarantined)
        // a6 takes the token of a5 over.
        try await activity.another("a6").register(5, at: .minutesAgo(20))
        let phone = InstallationHash.sample(1)
        try await activity.another("b1").register(20, at: .minutesAgo(30), installation: phone)
        _ = try await activity.database.registry.apply(
            FullState(observedAt: .minutesAgo(5), items: []),
            of: phone,
            in: activity.scope,
            by: "test"
        )
        let elsewhere = try await activity.database.scope("com.example.taxi", .production)
        _ = try await activity.database.registry.register(
            .sample(token: .sample(1), observedAt: .minutesAgo(5)),
            as: activity.id,
            in: elsewhere,
            by: "test"
        )
        let census = try await activity.database.registry.census()
        #expect(Self.states(census, in: .sandbox) == [.active: 8, .ended: 1, .dismissed: 1])
        #expect(Self.states(census, in: .production) == [.active: 1])
        #expect(Self.tokens(census, .update) == [.current: 5, .quarantined: 1, .withheld: 2])
        #expect(try await activity.database.handedOut(in: activity.scope) == 5)
        #expect(try await activity.count("SELECT count(*) FROM events") == census.eventsWritten)
    }

    @Test("Tokens of installations are counted by state") func tokensOfInstallationsAreCountedByState() async throws {
        let phone = try await TestInstallation.make()
        for number in 1...5 {
            try await phone.another(number).register(number, at: .minutesAgo(30))
            try await phone.another(number).register(number + 50, in: TestInstallation.device, at: .minutesAgo(30))
        }
        let reports = [1, 51].map { FeedbackReport(token: .sample($0), status: 400, reason: "BadDeviceToken") }
        _ = try await phone.database.registry.apply(reports, in: phone.scope, by: "test")
        try await phone.another(2).logOut(at: .minutesAgo(1))
        try await phone.another(3).delete(at: .minutesAgo(1))
        // 4 takes the device token of 5 over.
        try await phone.another(4).register(55, in: TestInstallation.device, at: .minutesAgo(10))
        let census = try await phone.database.registry.census()
        let (starts, devices) = (Self.tokens(census, .start), Self.tokens(census, .device))
        #expect(starts[.current] == 2 && starts[.quarantined] == 1)
        #expect(devices[.current] == 2 && devices[.quarantined] == 1)
        let current = try await phone.column("SELECT kind FROM current_installation_tokens ORDER BY kind")
        #expect(current == ["device", "device", "start", "start"])
    }

    @Test("The lag of the sweep is the age of what waits for it") func whatWaitsForTheSweepIsItsLag() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: .minutesAgo(5))
        #expect(try await activity.database.registry.census().sweepLag == .zero)
        try await activity.age(by: "9 hours")
        let lag = try await activity.database.registry.census().sweepLag
        // It began 9 hours and 5 minutes ago, and lives for 8 hours.
        #expect(lag >= .seconds(3900) && lag < .seconds(4000))
        #expect(try await activity.sweep(.expiry) == 1)
        let census = try await activity.database.registry.census()
        #expect(census.sweepLag == .zero && Self.states(census, in: .sandbox) == [.expired: 1])
    }

    @Test("A large registry is sampled") func aLargeRegistryIsSampled() async throws {
        let count = TestScale.isLong ? 1_000_000 : 100_000
        let database = try await TestDatabase.make(requestTimeout: .seconds(900))
        let scope = try await database.scope()
        try await PlanFilling.fill(database, scope, count: count)
        try await database.pool.withSession {
            try $0.simple("VACUUM ANALYZE activities, token_values, installation_tokens")
        }
        let census = try await database.registry.census()
        let active = try #require(Self.states(census, in: .sandbox)[.active])
        // Exact it would be exactly that.
        #expect((count * 8 / 10...count * 12 / 10).contains(active) && active != count, "\(active)")
        #expect(Self.tokens(census, .update)[.current] == active)
        for statement in [CensusStatements.activities(percent: 1), CensusStatements.tokens(percent: 1)] {
            let plan = try await ProductionPlan.plan(of: statement, in: database)
            #expect(plan.text.contains("Sample Scan") && plan.wholeReads == [], "\(plan.text)")
        }
        let lag = try await ProductionPlan.plan(of: CensusStatements.sweepLag(), in: database)
        #expect(!lag.wholeReads.contains("activities"), "\(lag.text)")
    }

    /// Postgres may last have noted that a table was empty; a census must not read all of it for that.
    @Test("A table that grew is not taken for a small one") func aTableThatGrewIsNotTakenForASmallOne() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await database.pool.withSession { session in
            try session.simple("VACUUM ANALYZE activities")
            _ = try session.execute(PlanFilling.activityRows(scope.app.number, 1...20_000))
        }
        func estimate() async throws -> Double {
            try await database.pool.withSession { session in
                try session.execute(StatisticsStatements.sizes(of: ["activities"]))[0].decode(String.self, Double.self)
                    .1
            }
        }
        #expect(try await (5000...80_000).contains(estimate()))
        try await database.pool.withSession { try $0.simple("ANALYZE activities") }
        #expect(try await (19_000...21_000).contains(estimate()))
        try await database.pool.withSession { try $0.simple("TRUNCATE activities CASCADE") }
        #expect(try await estimate() == 0)
    }

    @Test("Guards that are on are counted") func guardsThatAreOnAreCounted() async throws {
        let activity = try await TestActivity.make()
        for number in 1...5 { try await activity.another("a\(number)").register(number, at: .minutesAgo(30)) }
        let reports = (1...5).map { FeedbackReport(token: .sample($0), status: 400, reason: "BadDeviceToken") }
        _ = try await activity.database.registry.apply(reports, in: activity.scope, by: "test")
        #expect(try await activity.database.registry.census().activeGuards == 1)
    }
}
