import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R8: feedback never kills the wrong token.
@Suite struct FeedbackTests {
    private let t0 = Date.minutesAgo(60)
    private func minute(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    @Test func deathDropsWhatWasClaimedNoLater() async throws {
        let activity = try await TestActivity.make()
        let first = try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 410, "Unregistered", at: minute(0)) == .dropped)
        #expect(try await activity.currentToken() == nil)
        let record = try #require(try await activity.record())
        #expect(record.answer.state == .active && record.answer.reason == "unregistered")
        #expect(record.answer.revision == first.activity.revision + 1)
        #expect(try await activity.events() == ["registered", "dropped"])
        #expect(try await activity.pastTokens() == ["unregistered"])
        // Said again it is dropped still, and leaves no second event.
        #expect(try await activity.report(1, 410, "ExpiredToken", at: minute(0)) == .dropped)
        #expect(try await activity.events() == ["registered", "dropped"])
    }

    @Test func deathBeforeTheClaimKeeps() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(10))
        #expect(try await activity.report(1, 410, "Unregistered", at: minute(9)) == .keptNewer)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await activity.events() == ["registered"])
    }

    @Test func deathWithoutTimeCountsFromItsReceipt() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(10))
        #expect(try await activity.report(1, 410) == .dropped)
        #expect(try await activity.currentToken() == nil)
    }

    @Test func deathInTheFutureCountsFromItsReceipt() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 410, "Unregistered", at: .minutesAgo(-100_000)) == .dropped)
        #expect(try await activity.register(1, at: .minutesAgo(-1)).outcome == .reactivated)
    }

    @Test func deathMayOvertakeTheRegistration() async throws {
        let activity = try await TestActivity.make()
        #expect(try await activity.report(1, 410, "Unregistered", at: minute(5)) == .unknown)
        let problem = await activity.problem { try await activity.register(1, at: minute(5)) }
        #expect(problem?.code == .tokenUnregistered && problem?.activity?.reason == "unregistered")
        #expect(problem?.serverTime != nil)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.events() == ["registered", "dropped"])
        // Merged all the same: a later token rotates it.
        #expect(try await activity.register(2, at: minute(6)).outcome == .rotated)
        #expect(try await activity.currentToken() == .sample(2))
    }

    /// Apps that send no times get out of a quarantine, too; but no dead token comes back by an upload that was late.
    @Test func refreshWithoutTimeEndsAQuarantineAndNoDeath() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 400, "BadDeviceToken") == .quarantined)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.register(1, at: nil).outcome == .reactivated)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await activity.register(1, at: nil).outcome == .refreshed)
        #expect(try await activity.record()?.answer.observedAt == minute(0))
        #expect(try await activity.report(1, 400, "BadDeviceToken") == .quarantined)
        #expect(try await activity.report(1, 410, "Unregistered") == .dropped)
        #expect(await activity.problem { try await activity.register(1, at: nil) }?.code == .tokenUnregistered)
        #expect(try await activity.currentToken() == nil)
    }

    /// A token that came back after it was retired is a current one like any other.
    @Test func refreshWithoutTimeEndsTheQuarantineOfATokenThatCameBack() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        try await activity.register(2, at: minute(1))
        try await activity.register(1, at: minute(2))
        #expect(try await activity.report(1, 400, "BadDeviceToken") == .quarantined)
        #expect(try await activity.register(1, at: nil).outcome == .reactivated)
        #expect(try await activity.currentToken() == .sample(1))
    }

    @Test func laterClaimOfTheSameValueBringsItBack() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        _ = try await activity.report(1, 410, "Unregistered", at: minute(5))
        let problem = await activity.problem { try await activity.register(1, at: minute(4)) }
        #expect(problem?.code == .tokenUnregistered)
        // Without a time it claims nothing new.
        #expect(await activity.problem { try await activity.register(1, at: nil) }?.code == .tokenUnregistered)
        let before = try #require(try await activity.record()).answer.revision
        let answer = try await activity.register(1, at: minute(6))
        #expect(answer.outcome == .reactivated && answer.activity.revision == before + 1)
        #expect(try await activity.record()?.answer.revision == before + 1)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await activity.events() == ["registered", "dropped", "reactivated"])
        // The same bytes once more are a refresh.
        #expect(try await activity.register(1, at: minute(6)).outcome == .refreshed)
    }

    @Test func lateDeathOfARotatedTokenIsRetired() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        try await activity.register(2, at: minute(5))
        #expect(try await activity.report(1, 410, "Unregistered", at: minute(6)) == .retired)
        #expect(try await activity.currentToken() == .sample(2))
        try await activity.end()
        #expect(try await activity.report(2, 410, "Unregistered", at: minute(6)) == .retired)
    }

    @Test(arguments: [
        (400, "BadTopic"), (400, "TopicDisallowed"), (400, "PayloadEmpty"), (403, "BadEnvironmentKeyIdInToken"),
        (403, "BadEnvironmentKeyInToken"), (403, "InvalidProviderToken"), (404, "BadPath"), (405, "MethodNotAllowed"),
        (410, "SomethingNew"), (413, "PayloadTooLarge"), (429, "TooManyRequests"), (500, "InternalServerError"),
        (503, "Shutdown"), (400, "ChannelNotRegistered"), (418, "Teapot"),
    ])
    func whatIsTheSendersFaultKeeps(status: Int, reason: String) async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, status, reason) == .kept)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await activity.events() == ["registered"])
    }

    @Test func successIsNoted() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 200) == .delivered)
        #expect(try await activity.report(2, 200) == .unknown)
        #expect(try await activity.count("SELECT count(*) FROM token_values WHERE delivered_at IS NOT NULL") == 1)
        #expect(try await activity.count("SELECT count(*) FROM token_values") == 1)
    }

    @Test(arguments: ["BadDeviceToken", "DeviceTokenNotForTopic"])
    func quarantineEndsByALaterClaim(reason: String) async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 400, reason) == .quarantined)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.record()?.answer.reason == "quarantined")
        #expect(try await activity.report(1, 400, reason) == .quarantined)
        // What was claimed before does not count.
        #expect(try await activity.register(1, at: minute(1)).outcome == .refreshed)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.register(1, at: .minutesAgo(-1)).outcome == .reactivated)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await activity.events() == ["registered", "quarantined", "reactivated"])
    }

    @Test func quarantineEndsByRelease() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        _ = try await activity.report(1, 400, "BadDeviceToken")
        let registry = activity.database.registry
        #expect(try await registry.release(activity.id, in: activity.scope, by: "admin"))
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await registry.release(activity.id, in: activity.scope, by: "admin") == false)
        #expect(try await activity.events() == ["registered", "quarantined", "released"])
        let other = ActivityID.sample("nobody")
        let problem = await activity.problem { try await registry.release(other, in: activity.scope, by: "admin") }
        #expect(problem?.code == .activityNotFound)
    }

    /// No report comes between a release and its event.
    @Test(.timeLimit(.minutes(15))) func releaseWaitsForTheGuards() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        _ = try await activity.report(1, 400, "BadDeviceToken")
        let (registry, scope) = (activity.database.registry, activity.scope)
        let report = try await HeldTransaction("SELECT FROM quarantine_guards FOR UPDATE", in: activity.database)
        async let isReleased = registry.release(activity.id, in: scope, by: "admin")
        try await activity.waitUntilSomebodyWaits(for: report)
        try await report.release()
        #expect(try await isReleased)
    }

    /// Its life tells a token once, as what became of it last; one that it has again is none of those that it had.
    @Test func lifeTellsWhatBecameOfEachToken() async throws {
        let activity = try await TestActivity.make()
        for (minutes, token) in [1, 2, 1].enumerated() {
            try await activity.register(token, at: minute(Double(minutes)))
        }
        #expect(try await activity.pastTokens() == ["rotated"])
        _ = try await activity.report(1, 410)
        #expect(try await activity.pastTokens() == ["unregistered", "rotated"])
        try await activity.register(1, at: .minutesAgo(-1))
        #expect(try await activity.pastTokens() == ["rotated"])
        _ = try await activity.report(1, 410, at: .minutesAgo(-1))
        try await activity.age(by: "9 hours")
        #expect(try await activity.sweep(.expiry) == 1)
        // What is made older are the activities and not what they had before, so the order tells nothing.
        #expect(try await activity.pastTokens().sorted() == ["expired", "rotated"])
    }

    /// Whoever registers a value after a report took its locks comes after the report.
    @Test func nothingIsHeldWithAValueThatHasNoRow() async throws {
        let phone = try await TestInstallation.make()
        let activity = TestActivity(database: phone.database, scope: phone.scope, id: .sample("none"))
        try await phone.register(1, at: minute(0))
        try await phone.database.pool.withSession { _ = try $0.execute("DELETE FROM token_values") }
        #expect(try await activity.report(1, 400, "BadDeviceToken") == .unknown)
        #expect(try await activity.report(1, 200) == .unknown)
        // A death makes the row.
        #expect(try await activity.report(1, 410) == .dropped)
        #expect(try await phone.token() == nil)
    }

    @Test func otherEnvironmentIsHinted() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        let production = Scope(app: activity.scope.app, environment: .production)
        let report = FeedbackReport(token: .sample(1), status: 400, reason: "BadDeviceToken")
        let result = try await activity.database.registry.apply([report], in: production, by: "sender").results[0]
        #expect(result.action == .unknown && result.detail.contains("sandbox"))
        // Nothing happened where it is known.
        #expect(try await activity.currentToken() == .sample(1))
    }

    @Test func takenOverTokenDiesWithItsNewOwner() async throws {
        let first = try await TestActivity.make("first")
        let second = first.another("second")
        try await first.register(1, at: minute(0))
        try await second.register(1, at: minute(1))
        #expect(try await first.report(1, 410, "Unregistered", at: minute(2)) == .dropped)
        #expect(try await second.currentToken() == nil)
        #expect(try await second.events() == ["registered", "dropped"])
        #expect(try await first.events() == ["registered", "taken-over"])
    }

    @Test func reportsOfOneBatchApplyInOrder() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        let reports = [
            FeedbackReport(token: .sample(1), status: 200),
            FeedbackReport(token: .sample(9), status: 200),
            FeedbackReport(token: .sample(1), status: 410, timestamp: minute(3)),
            FeedbackReport(token: .sample(1), status: 500),
        ]
        let results = try await activity.database.registry.apply(reports, in: activity.scope, by: "sender").results
        #expect(results.map(\.action) == [.delivered, .unknown, .dropped, .kept])
    }
}

/// Reports find the rows that they have locked by the places where these stand.
extension FeedbackTests {
    /// The row is written anew by somebody else while the report waits for its lock.
    @Test(
        .timeLimit(.minutes(15)),
        arguments: [
            "UPDATE activities SET metadata_observed_at = now()", "UPDATE token_values SET delivered_at = now()",
        ],
        [410, 400]
    )
    func reportFindsARowThatWasWrittenAnew(_ writing: String, _ status: Int) async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        let writer = try await HeldTransaction("\(unescaped: writing)", in: activity.database, commits: true)
        async let action = activity.report(1, status, status == 400 ? "BadDeviceToken" : nil)
        try await activity.waitUntilSomebodyWaits(for: writer)
        try await writer.release()
        let effect = status == 410 ? "dropped" : "quarantined"
        #expect(try await action.rawValue == effect)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.events() == ["registered", effect])
    }

    /// A registration makes the row that a death of an unknown value was about to make.
    @Test(.timeLimit(.minutes(15))) func deathFindsARowThatIsMadeMeanwhile() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        try await activity.database.pool.withSession { _ = try $0.execute("DELETE FROM token_values") }
        let registration = try await HeldTransaction(
            """
            INSERT INTO token_values (app_number, environment, token_digest, activity_id, observed_at)
            SELECT app_number, environment, token_digest, activity_id, token_observed_at FROM activities
            """,
            in: activity.database,
            commits: true
        )
        async let action = activity.report(1, 410)
        try await activity.waitUntilSomebodyWaits(for: registration)
        try await registration.release()
        #expect(try await action == .dropped)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.count("SELECT count(*) FROM activities WHERE token_is_doubted") == 1)
    }

    /// A batch that trips the guard releases values that it is about itself.
    @Test func reportsOfTheBatchThatTripsTheGuardFindWhatItReleased() async throws {
        let activity = try await TestActivity.make()
        for number in 1...5 { try await activity.another("a\(number)").register(number, at: minute(0)) }
        for number in 1...3 { #expect(try await activity.report(number, 400, "BadDeviceToken") == .quarantined) }
        let reports = [(1, 400), (2, 410), (3, 200), (4, 400)].map { token, status in
            FeedbackReport(token: .sample(token), status: status, reason: status == 400 ? "BadDeviceToken" : nil)
        }
        let outcome = try await activity.database.registry.apply(reports, in: activity.scope, by: "sender")
        #expect(outcome.results.map(\.action) == [.guarded, .dropped, .delivered, .guarded])
        #expect(outcome.trippedKinds == ["update"])
        #expect(try await activity.another("a2").currentToken() == nil)
        let others = try await activity.count("SELECT count(*) FROM current_activities")
        #expect(others == 4)
        let events = try await activity.another("a2").events()
        #expect(events == ["registered", "quarantined", "released", "dropped"])
        #expect(try await activity.count("SELECT count(*) FROM token_values WHERE delivered_at IS NOT NULL") == 1)
    }

    /// The value goes over to another activity while the report waits for the lock of the first; and that one's row is
    /// written anew by somebody else while the report waits for its lock, too.
    @Test(.timeLimit(.minutes(15))) func deathFindsARowThatMoves() async throws {
        let first = try await TestActivity.make()
        let (second, database) = (first.another("second"), first.database)
        try await first.register(1, at: .minutesAgo(50))
        try await second.register(1, at: .minutesAgo(40))
        // As if the second's registration were under way.
        try await database.pool.withSession { session in
            _ = try session.execute("UPDATE token_values SET activity_id = \(first.id.rawValue)")
            _ = try session.execute("UPDATE activities SET token_is_doubted = false")
        }
        let takeover = try await HeldTransaction(
            """
            WITH taken AS (UPDATE token_values SET activity_id = \(second.id.rawValue))
            SELECT FROM activities WHERE activity_id = \(first.id.rawValue) FOR UPDATE
            """,
            in: database,
            commits: true
        )
        let refresh = try await HeldTransaction(
            "UPDATE activities SET metadata_observed_at = now() WHERE activity_id = \(second.id.rawValue)",
            in: database,
            commits: true
        )
        async let action = first.report(1, 410)
        try await second.waitUntilSomebodyWaits(for: takeover)
        try await takeover.release()
        try await second.waitUntilSomebodyWaits(for: refresh)
        try await refresh.release()
        #expect(try await action == .dropped)
        #expect(try await second.currentToken() == nil)
        #expect(try await second.record()?.answer.reason == "unregistered")
        #expect(try await second.events().last == "dropped")
        #expect(try await second.count("SELECT count(*) FROM activities WHERE token_is_doubted") == 1)
        #expect(try await second.pastTokens() == ["unregistered"])
    }
}

extension TestActivity {
    func waitUntilSomebodyWaits(for holder: HeldTransaction) async throws {
        let waiting: SQL = """
            SELECT count(*) FROM pg_stat_activity WHERE \(holder.backend) = ANY(pg_blocking_pids(pid))
            """
        while try await count(waiting) == 0 {}
    }

    /// Why each of its tokens is one no more, as its life tells.
    func pastTokens() async throws -> [String] {
        try #require(try await database.registry.life(of: id, events: 1, in: scope)).retired.map(\.reason)
    }

    /// Reports what APNs said of a sample token, in the activity's scope.
    func report(
        _ token: Int,
        _ status: Int,
        _ reason: String? = nil,
        at timestamp: Date? = nil
    ) async throws -> FeedbackAction {
        let report = FeedbackReport(token: .sample(token), status: status, reason: reason, timestamp: timestamp)
        return try await database.registry.apply([report], in: scope, by: "sender").results[0].action
    }

    func count(_ sql: SQL) async throws -> Int {
        try await database.pool.withSession { try $0.execute(sql)[0].column(0, as: Int.self) }
    }
}
