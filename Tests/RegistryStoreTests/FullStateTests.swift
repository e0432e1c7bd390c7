import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// R9 and R10: the full state of an installation.
@Suite struct FullStateTests {
    private let t0 = Date.minutesAgo(60)
    private let phone = InstallationHash.sample(1)

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    private func apply(_ items: [FullState.Item], at time: Date, to activity: TestActivity) async throws
        -> FullStateResults
    {
        try await activity.database.registry.apply(
            FullState(observedAt: time, items: items),
            of: phone,
            in: activity.scope,
            by: "test"
        )
    }

    private func item(_ activity: TestActivity, token: Int? = nil) -> FullState.Item {
        FullState.Item(activityID: activity.id, registration: .sample(token: token.map(PushToken.sample)))
    }

    @Test func `A missing activity is dismissed, and a later observation undoes it`() async throws {
        let gone = try await TestActivity.make("gone")
        let alias = Alias.sample("orderId", "42")
        let kept = gone.another("kept")
        try await gone.register(1, at: t0, installation: phone, aliases: [alias])
        try await kept.register(2, at: t0, installation: phone, aliases: [alias])
        let answer = try await apply([item(kept, token: 2)], at: after(1), to: gone)
        #expect(answer.ended == [gone.id])
        #expect(answer.results.map(\.result) == [.success(.refreshed)])
        #expect(try await gone.tokens(alias) == [.sample(2)])
        #expect(try await gone.record()?.status.state == .dismissed)
        #expect(try await gone.events() == ["registered", "dismissed"])
        #expect(try await gone.register(1, at: after(2)).outcome == .reactivated)
        #expect(try await gone.tokens(alias) == [.sample(1), .sample(2)])
        #expect(try await gone.events() == ["registered", "dismissed", "reactivated"])
    }

    @Test func `A registration that waits for a full state that dismisses it is reported as back`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: t0, installation: phone)
        _ = try await apply([item(activity)], at: after(0.5), to: activity)
        let scope = activity.scope
        let dismissal: SQL = """
            WITH told AS (
                UPDATE installations i SET full_state_at = \(after(1)) WHERE i.scope_id = \(scope.id) RETURNING i.full_state_at
            )
            UPDATE activities a SET revision = a.revision + 1
            FROM told WHERE a.scope_id = \(scope.id)
            """
        let state = try await HeldTransaction(dismissal, in: activity.database, commits: true)
        let waiting = Task { try await activity.register(1, at: after(2)) }
        try await state.waitUntilSomebodyWaits()
        try await state.release()
        let answer = try await waiting.value
        #expect(answer.outcome == .reactivated)
        #expect(answer.activity.state == .active)
        #expect(try await activity.events() == ["registered", "reactivated"])
    }

    @Test func `A late registration is created dismissed`() async throws {
        let activity = try await TestActivity.make()
        _ = try await apply([], at: after(5), to: activity)
        let answer = try await activity.register(1, at: t0, installation: phone)
        #expect(answer.activity.state == .dismissed)
        #expect(try await activity.currentToken() == nil)
    }

    @Test func `An older full state dismisses nothing`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: after(3), installation: phone)
        #expect(try await apply([], at: after(2), to: activity).ended == [])
        #expect(try await activity.record()?.status.state == .active)
    }

    @Test func `An activity listed without a token is known until its token arrives`() async throws {
        let activity = try await TestActivity.make()
        _ = try await apply([item(activity)], at: t0, to: activity)
        #expect(try await activity.record()?.status.state == .active)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.register(1, at: after(1)).outcome == .registered)
        #expect(try await activity.currentToken() == .sample(1))
    }

    @Test func `A listed activity counts as observed and rotates`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: t0, installation: phone)
        let answer = try await apply([item(activity, token: 2)], at: after(1), to: activity)
        #expect(answer.results.map(\.result) == [.success(.rotated)])
        #expect(try await activity.currentToken() == .sample(2))
    }

    @Test func `A malformed item counts as present`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: t0, installation: phone)
        let fault = Problem(.invalidRequest, "no token")
        let answer = try await apply([.init(activityID: activity.id, problem: fault)], at: after(1), to: activity)
        #expect(answer.ended == [])
        #expect(answer.results.map(\.result) == [.failure(fault)])
        #expect(try await activity.record()?.status.state == .active)
    }

    @Test func `One ended item fails no other`() async throws {
        let ended = try await TestActivity.make("ended")
        let fresh = ended.another("fresh")
        try await ended.end()
        let answer = try await apply([item(ended, token: 1), item(fresh, token: 2)], at: t0, to: ended)
        guard case .failure(let problem) = answer.results[0].result else {
            Issue.record("the ended activity was accepted")
            return
        }
        #expect(problem.code == .activityEnded)
        #expect(answer.results[1].result == .success(.registered))
    }

    @Test func `Each activity and token counts where it is listed first`() async throws {
        let a = try await TestActivity.make("a")
        let (b, c) = (a.another("b"), a.another("c"))
        try await c.register(3, at: t0, installation: phone)
        var items = [item(a, token: 1), item(a, token: 2), item(b, token: 2), item(c, token: 1), item(a)]
        for index in items.indices { items[index].pointer = "/activities/\(index)" }
        let answer = try await apply(items, at: after(1), to: a)
        #expect(answer.results.map(\.activityID) == [a, a, b, c, a].map(\.id))
        let faults = answer.results.map { result -> String? in
            guard case .failure(let problem) = result.result else { return nil }
            return "\(problem.code.status) \(problem.errors.map(\.pointer).joined())"
        }
        #expect(
            faults == [
                nil, "422 /activities/1/activityId", nil, "422 /activities/3/token", "422 /activities/4/activityId",
            ]
        )
        #expect(try await a.currentToken() == .sample(1))
        #expect(try await b.currentToken() == .sample(2))
        #expect(try await c.currentToken() == .sample(3))
        #expect(answer.ended == [])
    }

    /// Beyond a limit that no real phone reaches, nothing is locked, read or dismissed.
    @Test func `An installation with very many activities is refused`() async throws {
        let activity = try await TestActivity.make()
        let most = Registry.mostRunningActivities
        try await activity.database.addActivities(most + 1, of: phone, at: t0, in: activity.scope)
        let problem = await activity.problem { try await apply([item(activity, token: 1)], at: after(1), to: activity) }
        #expect(problem?.code == .invalidRequest)
        #expect(problem?.detail.contains("\(most)") == true)
        #expect(try await activity.record() == nil)
        try await activity.another("bulk-1").end()
        #expect(try await apply([item(activity, token: 1)], at: after(1), to: activity).ended.count == most)
    }

    @Test func `Other installations are left alone`() async throws {
        let other = try await TestActivity.make("other")
        try await other.register(1, at: t0, installation: .sample(2))
        #expect(try await apply([], at: after(1), to: other).ended == [])
        #expect(try await other.currentToken() == .sample(1))
    }

    @Test func `Times far ahead are refused`() async throws {
        let activity = try await TestActivity.make()
        let problem = await activity.problem { try await apply([], at: .minutesAgo(-6), to: activity) }
        #expect(problem?.code == .clockSkew)
    }
}
