import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R1 to R7 for single activities.
@Suite struct RegistrationRulesTests {
    private let t0 = Date.minutesAgo(60)

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    @Test func `The first token registers and resolves`() async throws {
        let activity = try await TestActivity.make()
        let answer = try await activity.register(1, at: t0, aliases: [.sample("orderId", "42")])
        #expect(answer.outcome == .registered)
        #expect(answer.activity.state == .active)
        #expect(answer.activity.expiresAt == t0.addingTimeInterval(8 * 3600))
        #expect(try await activity.tokens(.sample("orderId", "42")) == [.sample(1)])
    }

    @Test func `A later token rotates, and the old one is retired`() async throws {
        let activity = try await TestActivity.make()
        _ = try await activity.register(1, at: t0)
        #expect(try await activity.register(2, at: after(1)).outcome == .rotated)
        #expect(try await activity.currentToken() == .sample(2))
        #expect(try await activity.retired() == ["rotated"])
    }

    @Test func `An older token is superseded`() async throws {
        let activity = try await TestActivity.make()
        _ = try await activity.register(2, at: after(1))
        let problem = await activity.problem { try await activity.register(1, at: t0) }
        #expect(problem?.code == .superseded)
        #expect(problem?.activity?.observedAt == after(1))
        #expect(problem?.serverTime != nil)
        #expect(try await activity.currentToken() == .sample(2))
    }

    @Test func `The digest decides equal times in either order`() async throws {
        var winners: Set<PushToken> = []
        for order in [[1, 2], [2, 1]] {
            let activity = try await TestActivity.make()
            for token in order { _ = try? await activity.register(token, at: t0) }
            winners.insert(try #require(try await activity.currentToken()))
        }
        #expect(winners.count == 1)
    }

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

    @Test func `Without times the last one received counts`() async throws {
        let activity = try await TestActivity.make()
        _ = try await activity.register(1, at: nil)
        #expect(try await activity.register(2, at: nil).outcome == .rotated)
        let problem = await activity.problem { try await activity.register(1, at: nil) }
        #expect(problem?.code == .superseded)
        #expect(try await activity.currentToken() == .sample(2))
    }

    @Test func `Every acknowledged repeat writes`() async throws {
        let activity = try await TestActivity.make()
        _ = try await activity.register(1, at: t0)
        var touches = [try await activity.touchedAt()]
        _ = try await activity.register(1, at: t0)
        touches.append(try await activity.touchedAt())
        for _ in 0..<2 {
            try await activity.end()
            touches.append(try await activity.touchedAt())
        }
        #expect(Set(touches).count == 4)
    }

    @Test func `Times far ahead are refused`() async throws {
        let activity = try await TestActivity.make()
        let problem = await activity.problem { try await activity.register(1, at: .minutesAgo(-6)) }
        #expect(problem?.code == .clockSkew)
        #expect(problem?.serverTime != nil)
        #expect(try await activity.record() == nil)
        #expect(try await activity.register(1, at: .minutesAgo(-4)).outcome == .registered)
        await #expect(throws: Problem.self) { try await activity.end(at: .minutesAgo(-6)) }
        // The refused request wrote no outcome: the row has an earlier request's.
        #expect(await activity.problem { try await activity.register(2, at: .minutesAgo(-6)) }?.code == .clockSkew)
        #expect(try await activity.events() == ["registered"])
        try await activity.end()
        await #expect(throws: Problem.self) { try await activity.end(at: .minutesAgo(-6)) }
        #expect(try await activity.events() == ["registered", "ended"])
    }

    // MARK: R4

    @Test func `An end is final`() async throws {
        let activity = try await TestActivity.make()
        _ = try await activity.register(1, at: t0, aliases: [.sample("orderId", "42")])
        try await activity.end(at: after(1))
        for (token, time) in [(1, t0), (2, after(2)), (3, Date.minutesAgo(-4))] {
            let problem = await activity.problem { try await activity.register(token, at: time) }
            #expect(problem?.code == .activityEnded)
            #expect(problem?.activity?.endedAt == after(1))
        }
        let untimed = await activity.problem { try await activity.register(4, at: nil) }
        #expect(untimed?.code == .activityEnded)
        #expect(try await activity.tokens(.sample("orderId", "42")) == [])
        #expect(try await activity.record()?.status.state == .ended)
        #expect(try await activity.record()?.token == nil)
        #expect(Set(try await activity.retired()).contains("ended"))
    }

    @Test func `An end before its registration leaves a tombstone`() async throws {
        let activity = try await TestActivity.make()
        try await activity.end(reason: .dismissed)
        let problem = await activity.problem { try await activity.register(1, at: t0) }
        #expect(problem?.code == .activityEnded)
        #expect(problem?.activity?.reason == "dismissed")
    }

    // MARK: R5

    @Test func `Expiry holds without a sweep`() async throws {
        let activity = try await TestActivity.make()
        let alias = Alias.sample("orderId", "42")
        _ = try await activity.register(1, at: t0, aliases: [alias])
        #expect(try await activity.tokens(alias).count == 1)
        try await activity.age(by: "8 hours")
        let problem = await activity.problem { try await activity.register(1, at: t0) }
        #expect(problem?.code == .activityExpired)
        #expect(try await activity.tokens(alias) == [])
        #expect(try await activity.record()?.status.state == .expired)
    }

    @Test func `A registration that expired by its own times changes nothing`() async throws {
        let activity = try await TestActivity.make()
        let old = Date.minutesAgo(8 * 60 + 1)
        for start in [nil, old] {
            let problem = await activity.problem { try await activity.register(1, at: start ?? old, startedAt: start) }
            #expect(problem?.code == .activityExpired)
            #expect(problem?.serverTime != nil)
            #expect(try await activity.count("SELECT count(*) FROM activities") == 0)
        }
        #expect(try await activity.register(1, at: t0).outcome == .registered)
        _ = await activity.problem { try await activity.register(2, at: .minutesAgo(0), startedAt: old) }
        #expect(try await activity.currentToken() == .sample(1))
    }

    @Test func `The lifetime is fixed at the first receipt`() async throws {
        let activity = try await TestActivity.make()
        _ = try await activity.register(1, at: t0)
        var changes = AppChanges()
        changes.activityLifetime = .seconds(600)
        _ = try await activity.database.registry.put(changes, for: activity.scope.app.bundleID, by: "test")
        #expect(try await activity.register(1, at: after(1)).outcome == .refreshed)
    }

    @Test func `The start is never after the first receipt`() async throws {
        let activity = try await TestActivity.make()
        let answer = try await activity.register(1, at: t0, startedAt: Date().addingTimeInterval(200))
        #expect(try #require(answer.activity.expiresAt) <= Date().addingTimeInterval(8 * 3600 + 60))
    }

    // MARK: R6

    @Test func `An omitted member clears nothing, and aliases are replaced as a whole`() async throws {
        let activity = try await TestActivity.make()
        let (a, b) = (Alias.sample("orderId", "42"), Alias.sample("userId", "7"))
        _ = try await activity.register(1, at: t0, aliases: [a, b])
        _ = try await activity.register(1, at: after(1))
        #expect(try await activity.tokens(a).count == 1)
        _ = try await activity.register(1, at: after(3), aliases: [b])
        #expect(try await activity.tokens(a) == [])
        // Late, older aliases replace nothing.
        _ = try await activity.register(1, at: after(2), aliases: [a])
        #expect(try await activity.tokens(a) == [])
        #expect(try await activity.tokens(b).count == 1)
        _ = try await activity.register(1, at: after(4), aliases: [])
        #expect(try await activity.tokens(b) == [])
    }

    @Test func `The first received facts stay`() async throws {
        let activity = try await TestActivity.make()
        _ = try await activity.register(1, at: after(2), attributesType: "Second")
        _ = try await activity.register(1, at: after(1), attributesType: "First")
        _ = try await activity.register(1, at: after(3), attributesType: "Third")
        #expect(try await activity.record()?.facts.attributesType?.rawValue == "Second")
    }

    // MARK: R7

    @Test func `A later claim takes the token over`() async throws {
        let first = try await TestActivity.make()
        let second = first.another("second")
        _ = try await first.register(1, at: t0)
        _ = try await second.register(1, at: after(1))
        #expect(try await first.currentToken() == nil)
        #expect(try await first.record()?.status.reason == "taken-over")
        #expect(try await second.currentToken() == .sample(1))
        #expect(try await first.events() == ["registered", "taken-over"])
        #expect(try await first.retired() == ["taken-over"])
        // The owner keeps the value after its rotation and end.
        _ = try await second.register(2, at: after(2))
        try await second.end()
        #expect(try await first.currentToken() == nil)
        let problem = await first.problem { try await first.register(1, at: t0.addingTimeInterval(1)) }
        #expect(problem?.code == .superseded)
        #expect(problem?.activity?.reason == "taken-over")
        #expect(try await first.register(1, at: after(3)).outcome == .reactivated)
        #expect(try await first.currentToken() == .sample(1))
    }

    @Test func `A late claim takes nothing`() async throws {
        let first = try await TestActivity.make()
        let second = first.another("second")
        _ = try await second.register(1, at: after(1))
        let problem = await first.problem { try await first.register(1, at: t0) }
        #expect(problem?.activity?.reason == "taken-over")
        #expect(try await second.currentToken() == .sample(1))
    }

    @Test func `Without a time a retired token returns only after another activity has claimed it`() async throws {
        let first = try await TestActivity.make()
        let second = first.another("second")
        _ = try await first.register(1, at: t0)
        _ = try await first.register(2, at: after(1))
        #expect(await first.problem { try await first.register(1, at: nil) }?.code == .superseded)
        _ = try await second.register(1, at: after(2))
        #expect(try await first.register(1, at: nil).outcome == .rotated)
        #expect(try await first.currentToken() == .sample(1))
        #expect(try await second.currentToken() == nil)
    }

    @Test func `Environments and apps never mix`() async throws {
        let sandbox = try await TestActivity.make()
        let production = Scope(app: sandbox.scope.app, environment: .production)
        let other = try await sandbox.database.scope("com.example.other")
        _ = try await sandbox.register(1, at: t0, aliases: [.sample("orderId", "42")])
        for scope in [production, other] {
            #expect(try await sandbox.database.registry.activity(sandbox.id, in: scope) == nil)
            let found = try await sandbox.database.registry.activities(
                under: .sample("orderId", "42"),
                limit: 9,
                in: scope
            )
            #expect(found == [])
        }
    }

    // MARK: R11

    @Test func `Every change writes an event, and refreshes write none`() async throws {
        let activity = try await TestActivity.make()
        _ = try await activity.register(1, at: t0)
        _ = try await activity.register(1, at: after(1))
        _ = try await activity.register(2, at: after(2))
        _ = try? await activity.register(1, at: t0)
        try await activity.end()
        try await activity.end()
        #expect(try await activity.events() == ["registered", "rotated", "ended"])
    }
}
