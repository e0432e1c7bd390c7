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

    private func item(_ activity: TestActivity, token: Int? = nil) -> FullState.Item {
        FullState.Item(activityID: activity.id, registration: .sample(token: token.map(PushToken.sample)))
    }

    @Test func `A missing activity is dismissed, and a later observation undoes it`() async throws {
        let gone = try await TestActivity.make("gone")
        let alias = Alias.sample("orderId", "42")
        let kept = gone.another("kept")
        try await gone.register(1, at: t0, installation: phone, aliases: [alias])
        try await kept.register(2, at: t0, installation: phone, aliases: [alias])
        let answer = try await gone.tellFullState(of: phone, [item(kept, token: 2)], at: after(1))
        #expect(answer.ended == [gone.id])
        #expect(answer.results == [.success(.refreshed)])
        #expect(try await gone.tokens(alias) == [.sample(2)])
        #expect(try await gone.record()?.status.state == .dismissed)
        #expect(try await gone.events() == ["registered", "dismissed"])
        #expect(try await gone.register(1, at: after(2)).outcome == .reactivated)
        #expect(try await gone.tokens(alias) == [.sample(1), .sample(2)])
        #expect(try await gone.events() == ["registered", "dismissed", "reactivated"])
    }

    @Test func `A registration that waited for a dismissing full state reactivates the activity`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: t0, installation: phone)
        try await activity.tellFullState(of: phone, [item(activity)], at: after(0.5))
        let scope = activity.scope.id
        let dismissal: SQL = """
            WITH told AS (UPDATE installations SET full_state_at = \(after(1)) WHERE scope_id = \(scope) RETURNING scope_id)
            UPDATE activities a SET revision = a.revision + 1 FROM told WHERE a.scope_id = \(scope)
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

    @Test func `A late registration creates a dismissed activity`() async throws {
        let activity = try await TestActivity.make()
        try await activity.tellFullState(of: phone, at: after(5))
        #expect(try await activity.register(1, at: t0, installation: phone).activity.state == .dismissed)
        #expect(try await activity.currentToken() == nil)
    }

    /// Beyond a limit that no real phone reaches, nothing is locked, read or dismissed.
    @Test func `An installation with very many activities is refused`() async throws {
        let activity = try await TestActivity.make()
        let most = Registry.mostRunningActivities
        try await activity.database.addActivities(most + 1, of: phone, at: t0, in: activity.scope)
        func tell() async throws -> FullStateResults {
            try await activity.tellFullState(of: phone, [item(activity, token: 1)], at: after(1))
        }
        let problem = await activity.problem { try await tell() }
        #expect(problem?.code == .invalidRequest)
        #expect(problem?.detail.contains("\(most)") == true)
        #expect(try await activity.record() == nil)
        try await activity.another("bulk-1").end()
        #expect(try await tell().ended.count == most)
    }
}
