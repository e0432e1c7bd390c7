import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct FeedbackTests {
    /// Otherwise a report could be applied between a release and its event.
    @Test func `A release waits for the guards`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: .minutesAgo(60))
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
            try await activity.register(token, at: .minutesAgo(Double(60 - minutes)))
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

}

extension FeedbackOutcome {
    var actions: [FeedbackAction] { results.map(\.action) }
}
