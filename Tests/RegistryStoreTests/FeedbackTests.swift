import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R8: feedback never withholds the wrong token.
@Suite(.timeLimit(.minutes(15))) struct FeedbackTests {
    private let t0 = Date.minutesAgo(60)
    private func minute(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    @Test func `A death drops a claim that is not later`() async throws {
        let activity = try await TestActivity.make()
        let first = try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 410, "Unregistered", at: minute(0)) == .dropped)
        #expect(try await activity.currentToken() == nil)
        let record = try #require(try await activity.record())
        #expect(record.status.state == .active)
        #expect(record.status.reason == "unregistered")
        #expect(record.status.revision == first.activity.revision + 1)
        #expect(try await activity.events() == ["registered", "dropped"])
        #expect(try await activity.pastTokens() == ["unregistered"])
        #expect(try await activity.report(1, 410, "ExpiredToken", at: minute(0)) == .dropped)
        #expect(try await activity.events() == ["registered", "dropped"])
    }

    @Test func `A death before the claim keeps the token`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(10))
        #expect(try await activity.report(1, 410, "Unregistered", at: minute(9)) == .keptNewer)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await activity.events() == ["registered"])
    }

    @Test func `A death in the future counts from its receipt`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 410, "Unregistered", at: .minutesAgo(-100_000)) == .dropped)
        #expect(try await activity.register(1, at: .minutesAgo(-1)).outcome == .reactivated)
    }

    @Test func `A death may precede the registration`() async throws {
        let activity = try await TestActivity.make()
        #expect(try await activity.report(1, 410, "Unregistered", at: minute(5)) == .unknown)
        let problem = await activity.problem { try await activity.register(1, at: minute(5)) }
        #expect(problem?.code == .tokenUnregistered)
        #expect(problem?.activity?.reason == "unregistered")
        #expect(problem?.serverTime != nil)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.events() == ["registered", "dropped"])
        // The refused claim was merged: a later token rotates it.
        #expect(try await activity.register(2, at: minute(6)).outcome == .rotated)
        #expect(try await activity.currentToken() == .sample(2))
    }

    /// Apps that send no times can end a quarantine, but a late upload does not revive a dead token.
    @Test func `A refresh without a time ends a quarantine, not a death`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 400, "BadDeviceToken") == .quarantined)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.register(1, at: nil).outcome == .reactivated)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await activity.register(1, at: nil).outcome == .refreshed)
        #expect(try await activity.record()?.status.observedAt == minute(0))
        #expect(try await activity.report(1, 400, "BadDeviceToken") == .quarantined)
        #expect(try await activity.report(1, 410, "Unregistered") == .dropped)
        #expect(await activity.problem { try await activity.register(1, at: nil) }?.code == .tokenUnregistered)
        #expect(try await activity.currentToken() == nil)
    }

    @Test func `A refresh without a time ends the quarantine of a token that returned`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        try await activity.register(2, at: minute(1))
        try await activity.register(1, at: minute(2))
        #expect(try await activity.report(1, 400, "BadDeviceToken") == .quarantined)
        #expect(try await activity.register(1, at: nil).outcome == .reactivated)
        #expect(try await activity.currentToken() == .sample(1))
    }

    @Test func `A later claim of the same value brings it back`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        _ = try await activity.report(1, 410, "Unregistered", at: minute(5))
        let problem = await activity.problem { try await activity.register(1, at: minute(4)) }
        #expect(problem?.code == .tokenUnregistered)
        // Without a time it claims nothing new.
        #expect(await activity.problem { try await activity.register(1, at: nil) }?.code == .tokenUnregistered)
        let before = try #require(try await activity.record()).status.revision
        let answer = try await activity.register(1, at: minute(6))
        #expect(answer.outcome == .reactivated)
        #expect(answer.activity.revision == before + 1)
        #expect(try await activity.record()?.status.revision == before + 1)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await activity.events() == ["registered", "dropped", "reactivated"])
        #expect(try await activity.register(1, at: minute(6)).outcome == .refreshed)
    }

    @Test func `A late death of a rotated token is retired`() async throws {
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
        (403, "BadEnvironmentKeyInToken"), (403, "InvalidProviderToken"), (404, "BadPath"),
        (405, "MethodNotAllowed"),
        (410, "SomethingNew"), (413, "PayloadTooLarge"), (429, "TooManyRequests"), (500, "InternalServerError"),
        (503, "Shutdown"), (400, "ChannelNotRegistered"), (418, "Teapot"),
    ])
    func `A sender's own fault keeps the token`(status: Int, reason: String) async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, status, reason) == .kept)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await activity.events() == ["registered"])
    }

    @Test func `A success is stored`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 200) == .delivered)
        #expect(try await activity.report(2, 200) == .unknown)
        #expect(try await activity.count("SELECT count(*) FROM token_values WHERE delivered_at IS NOT NULL") == 1)
        #expect(try await activity.count("SELECT count(*) FROM token_values") == 1)
    }

    @Test(arguments: ["BadDeviceToken", "DeviceTokenNotForTopic"])
    func `A later claim ends the quarantine`(reason: String) async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 400, reason) == .quarantined)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.record()?.status.reason == "quarantined")
        #expect(try await activity.report(1, 400, reason) == .quarantined)
        // A claim from before the report does not count.
        #expect(try await activity.register(1, at: minute(1)).outcome == .refreshed)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.register(1, at: .minutesAgo(-1)).outcome == .reactivated)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await activity.events() == ["registered", "quarantined", "reactivated"])
    }

    @Test func `A release ends the quarantine`() async throws {
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

    /// No report is applied between a release and its event.
    @Test func `A release waits for the guards`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        _ = try await activity.report(1, 400, "BadDeviceToken")
        let (registry, scope) = (activity.database.registry, activity.scope)
        let locks: SQL = "SELECT FROM quarantine_guards WHERE scope_id = \(scope.id) FOR UPDATE"
        let report = try await HeldTransaction(locks, in: activity.database)
        async let isReleased = registry.release(activity.id, in: scope, by: "admin")
        try await report.waitUntilSomebodyWaits()
        try await report.release()
        #expect(try await isReleased)
    }

    @Test func `An activity's audit page has the outcome of each token`() async throws {
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
        // Only the activities become older, not their former tokens, so the order is undefined.
        #expect(try await activity.pastTokens().sorted() == ["expired", "rotated"])
    }

    /// A registration that follows the report's locks is later than the report.
    @Test func `A value without a row withholds nothing`() async throws {
        let phone = try await TestInstallation.make()
        let activity = TestActivity(database: phone.database, scope: phone.scope, id: .sample("none"))
        try await phone.register(1, at: minute(0))
        try await phone.database.pool.withSession { _ = try $0.execute("DELETE FROM token_values") }
        #expect(try await activity.report(1, 400, "BadDeviceToken") == .unknown)
        #expect(try await activity.report(1, 200) == .unknown)
        // A death inserts the row; a registration that inserted it meanwhile would cause a retry.
        #expect(try await activity.report(1, 410) == .unknown)
    }

    @Test func `A value known in the other environment gets a hint`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        let production = Scope(app: activity.scope.app, environment: .production)
        let report = FeedbackReport(token: .sample(1), status: 400, reason: "BadDeviceToken")
        let result = try await activity.database.registry.apply([report], in: production, by: "sender").results[0]
        #expect(result.action == .unknown)
        #expect(result.detail.contains("sandbox"))
        // The token's own environment is unaffected.
        #expect(try await activity.currentToken() == .sample(1))
    }

    @Test func `A token that was taken over dies with its new owner`() async throws {
        let first = try await TestActivity.make("first")
        let second = first.another("second")
        try await first.register(1, at: minute(0))
        try await second.register(1, at: minute(1))
        #expect(try await first.report(1, 410, "Unregistered", at: minute(2)) == .dropped)
        #expect(try await second.currentToken() == nil)
        #expect(try await second.events() == ["registered", "dropped"])
        #expect(try await first.events() == ["registered", "taken-over"])
    }

    @Test func `Reports of one batch apply in order`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        let reports = [
            FeedbackReport(token: .sample(1), status: 200),
            FeedbackReport(token: .sample(9), status: 200),
            FeedbackReport(token: .sample(1), status: 410, timestamp: minute(3)),
            FeedbackReport(token: .sample(1), status: 500),
        ]
        let actions = try await activity.database.registry.apply(reports, in: activity.scope, by: "sender").actions
        #expect(actions == [.delivered, .unknown, .dropped, .kept])
    }

    @Test func `A batch may contain many reports about one token`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        try await activity.another("other").register(2, at: minute(0))
        let deaths = (1...10).map { FeedbackReport(token: .sample(1), status: 410, timestamp: minute(-Double($0))) }
        let deliveries = (1...20).map { FeedbackReport(token: .sample(2), status: 200, timestamp: minute(Double($0))) }
        let reports = deaths + deliveries + deaths.prefix(2)
        let actions = try await activity.database.registry.apply(reports, in: activity.scope, by: "sender").actions
        #expect(actions.count == 32)
        for (index, action) in actions.enumerated() {
            #expect(action == ((10..<30).contains(index) ? .delivered : .keptNewer), "\(index)")
        }
        // The last report of the batch counts, wherever it is listed.
        let last = [FeedbackReport(token: .sample(1), status: 410, timestamp: minute(1))] + deaths.prefix(3)
        let dropped = try await activity.database.registry.apply(last, in: activity.scope, by: "sender").actions
        #expect(dropped == [.dropped, .dropped, .dropped, .dropped])
    }
}

extension FeedbackOutcome {
    var actions: [FeedbackAction] { results.map(\.action) }
}

extension TestActivity {
    func pastTokens() async throws -> [String] {
        try #require(try await database.registry.life(of: id, events: 1, in: scope)).retired.map(\.reason)
    }

    func report(
        _ token: Int,
        _ status: Int,
        _ reason: String? = nil,
        at timestamp: Date? = nil
    ) async throws -> FeedbackAction {
        let report = FeedbackReport(token: .sample(token), status: status, reason: reason, timestamp: timestamp)
        return try await database.registry.apply([report], in: scope, by: "sender").actions[0]
    }

    func count(_ sql: SQL) async throws -> Int { try await database.count(sql) }
}
