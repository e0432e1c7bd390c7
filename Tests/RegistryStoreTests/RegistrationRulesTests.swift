import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R1 to R7 for single activities.
@Suite struct RegistrationRulesTests {
    private let t0 = Date.minutesAgo(60)

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    @Test func `A refresh always moves confirmedAt, and observedAt if later`() async throws {
        let activity = try await TestActivity.make()
        let first = try await activity.register(1, at: after(1)).activity
        let untimed = try await activity.register(1, at: nil)
        #expect(untimed.outcome == .refreshed)
        #expect(untimed.activity.observedAt == after(1))
        #expect(try #require(untimed.activity.confirmedAt) > #require(first.confirmedAt))
        let earlier = try await activity.register(1, at: t0)
        #expect(earlier.outcome == .refreshed)
        #expect(earlier.activity.observedAt == after(1))
        let later = try await activity.register(1, at: after(2))
        #expect(later.activity.observedAt == after(2))
        #expect(later.activity.revision == first.revision + 1)  // the sender sees the change of startedAt to t0
    }

    @Test func `Every acknowledged repetition writes`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: t0)
        var touches: Set<String> = [try await activity.touchedAt()]
        try await activity.register(1, at: t0)
        touches.insert(try await activity.touchedAt())
        for _ in 0..<2 {
            try await activity.end()
            touches.insert(try await activity.touchedAt())
        }
        #expect(touches.count == 4)
    }

    @Test func `An omitted member clears nothing, facts stay, and aliases are replaced as a whole`() async throws {
        let activity = try await TestActivity.make()
        let (a, b) = (Alias.sample("orderId", "42"), Alias.sample("userId", "7"))
        try await activity.register(1, at: t0, aliases: [a, b], attributesType: "First")
        try await activity.register(1, at: after(1), attributesType: "Second")
        #expect(try await activity.record()?.facts.attributesType?.rawValue == "First")
        #expect(try await activity.tokens(a).count == 1)
        try await activity.register(1, at: after(3), aliases: [b])
        #expect(try await activity.tokens(a) == [])
        // Late, older aliases replace nothing.
        try await activity.register(1, at: after(2), aliases: [a])
        #expect(try await activity.tokens(a) == [])
        #expect(try await activity.tokens(b).count == 1)
        try await activity.register(1, at: after(4), aliases: [])
        #expect(try await activity.tokens(b) == [])
    }

    @Test func `A later claim takes over the token`() async throws {
        let first = try await TestActivity.make()
        let second = first.another("second")
        try await first.register(1, at: t0)
        try await second.register(1, at: after(1))
        #expect(try await first.currentToken() == nil)
        #expect(try await first.record()?.status.reason == "taken-over")
        #expect(try await second.currentToken() == .sample(1))
        #expect(try await first.events() == ["registered", "taken-over"])
        #expect(try await first.retired() == ["taken-over"])
        // The owner keeps the value after its rotation and end.
        try await second.register(2, at: after(2))
        try await second.end()
        #expect(try await first.currentToken() == nil)
        let problem = await first.problem { try await first.register(1, at: t0.addingTimeInterval(1)) }
        #expect(problem?.code == .superseded)
        #expect(problem?.activity?.reason == "taken-over")
        #expect(try await first.register(1, at: after(3)).outcome == .reactivated)
        #expect(try await first.currentToken() == .sample(1))
    }

    @Test func `Without a time, a retired token returns only after another activity has claimed it`() async throws {
        let first = try await TestActivity.make()
        let second = first.another("second")
        try await first.register(1, at: t0)
        try await first.register(2, at: after(1))
        #expect(await first.problem { try await first.register(1, at: nil) }?.code == .superseded)
        try await second.register(1, at: after(2))
        #expect(try await first.register(1, at: nil).outcome == .rotated)
        #expect(try await first.currentToken() == .sample(1))
        #expect(try await second.currentToken() == nil)
    }

    @Test func `Environments and apps never mix`() async throws {
        let sandbox = try await TestActivity.make()
        let production = Scope(app: sandbox.scope.app, environment: .production)
        let other = try await sandbox.database.scope("com.example.other")
        try await sandbox.register(1, at: t0, aliases: [.sample("orderId", "42")])
        for scope in [production, other] {
            #expect(try await sandbox.registry.activity(sandbox.id, in: scope) == nil)
            #expect(try await sandbox.registry.activities(under: .sample("orderId", "42"), limit: 9, in: scope) == [])
        }
    }
}
