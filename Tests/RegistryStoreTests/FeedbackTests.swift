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

    @Test func `A death drops claims up to its time`() async throws {
        let activity = try await TestActivity.make()
        let first = try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 410, "Unregistered", at: minute(0)) == .dropped)
        #expect(try await activity.currentToken() == nil)
        let record = try #require(try await activity.record())
        #expect(record.status.state == .active)
        #expect(record.status.reason == "unregistered")
        #expect(record.status.revision == first.activity.revision + 1)
        #expect(try await activity.events() == ["registered", "dropped"])
        #expect(try await activity.retired() == ["unregistered"])
        #expect(try await activity.report(1, 410, "ExpiredToken", at: minute(0)) == .dropped)
        #expect(try await activity.events() == ["registered", "dropped"])
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

    @Test func `A later claim of the same value reactivates it`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        _ = try await activity.report(1, 410, "Unregistered", at: minute(5))
        let problem = await activity.problem { try await activity.register(1, at: minute(4)) }
        #expect(problem?.code == .tokenUnregistered)
        // A registration of the current token without a time does not change the claim's time.
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

    @Test func `A success is stored`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 200) == .delivered)
        #expect(try await activity.report(2, 200) == .unknown)
        #expect(try await activity.count("SELECT count(*) FROM token_values WHERE delivered_at IS NOT NULL") == 1)
        #expect(try await activity.rows(in: "token_values") == 1)
    }

    @Test(arguments: ["BadDeviceToken", "DeviceTokenNotForTopic"])
    func `A later claim ends the quarantine`(reason: String) async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        #expect(try await activity.report(1, 400, reason) == .quarantined)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.record()?.status.reason == "quarantined")
        #expect(try await activity.report(1, 400, reason) == .quarantined)
        // A claim made before the report does not end the quarantine.
        #expect(try await activity.register(1, at: minute(1)).outcome == .refreshed)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.register(1, at: .minutesAgo(-1)).outcome == .reactivated)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await activity.events() == ["registered", "quarantined", "reactivated"])
    }

    /// Otherwise a report could be applied between a release and its event.
    @Test func `A release waits for the guards`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        _ = try await activity.report(1, 400, "BadDeviceToken")
        let (registry, scope) = (activity.registry, activity.scope)
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
        #expect(try await activity.retired() == ["rotated"])
        _ = try await activity.report(1, 410)
        #expect(try await activity.retired() == ["unregistered", "rotated"])
        try await activity.register(1, at: .minutesAgo(-1))
        #expect(try await activity.retired() == ["rotated"])
        _ = try await activity.report(1, 410, at: .minutesAgo(-1))
        try await activity.age(by: "9 hours")
        #expect(try await activity.sweep(.expiry) == 1)
        // `age` changes the times of activities, not of their former tokens, so the order is undefined.
        #expect(try await activity.retired().sorted() == ["expired", "rotated"])
    }

    /// A registration that follows the report's locks is later than the report.
    @Test func `A report on an unknown value withholds no token`() async throws {
        let phone = try await TestInstallation.make()
        let activity = phone.activity("none")
        try await phone.register(1, at: minute(0))
        try await phone.database.run("DELETE FROM token_values")
        #expect(try await activity.report(1, 400, "BadDeviceToken") == .unknown)
        #expect(try await activity.report(1, 200) == .unknown)
        // A death inserts the row; a registration that inserted it meanwhile would cause a retry.
        #expect(try await activity.report(1, 410) == .unknown)
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

    @Test func `A batch can contain many reports on one token`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: minute(0))
        try await activity.another("other").register(2, at: minute(0))
        let deaths = (1...10).map { FeedbackReport(token: .sample(1), status: 410, timestamp: minute(-Double($0))) }
        let deliveries = (1...20).map { FeedbackReport(token: .sample(2), status: 200, timestamp: minute(Double($0))) }
        let reports = deaths + deliveries + deaths.prefix(2)
        let actions = try await activity.report(reports)
        #expect(actions.count == 32)
        for (index, action) in actions.enumerated() {
            #expect(action == ((10..<30).contains(index) ? .delivered : .keptNewer), "\(index)")
        }
        // The last report of the batch counts, wherever it is listed.
        let last = [FeedbackReport(token: .sample(1), status: 410, timestamp: minute(1))] + deaths.prefix(3)
        let dropped = try await activity.report(last)
        #expect(dropped == [.dropped, .dropped, .dropped, .dropped])
    }
}

extension FeedbackOutcome {
    var actions: [FeedbackAction] { results.map(\.action) }
}
