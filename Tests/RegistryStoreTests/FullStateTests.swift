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

    private func item(_ activity: TestActivity, token: Int? = nil) -> FullState.Item {
        FullState.Item(activityID: activity.id, registration: .sample(token: token.map(PushToken.sample)))
    }

    @Test func `A registration that waited for a dismissing full state reactivates the activity`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: t0, installation: phone)
        try await activity.tellFullState(of: phone, [item(activity)], at: t0 + 30)
        let scope = activity.scope.id
        let dismissal: SQL = """
            WITH told AS (UPDATE installations SET full_state_at = \(t0 + 60) WHERE scope_id = \(scope) RETURNING scope_id)
            UPDATE activities a SET revision = a.revision + 1 FROM told WHERE a.scope_id = \(scope)
            """
        let state = try await HeldTransaction(dismissal, in: activity.database, commits: true)
        let waiting = Task { try await activity.register(1, at: t0 + 120) }
        try await state.waitUntilSomebodyWaits()
        try await state.release()
        let answer = try await waiting.value
        #expect(answer.outcome == .reactivated)
        #expect(answer.activity.state == .active)
        #expect(try await activity.events() == ["registered", "reactivated"])
    }

    /// Beyond a limit that no real phone reaches, nothing is locked, read or dismissed.
    @Test func `An installation with very many activities is refused`() async throws {
        let activity = try await TestActivity.make()
        let most = Registry.mostRunningActivities
        try await activity.database.addActivities(1...most + 1, of: phone, at: t0, in: activity.scope)
        func tell() async throws -> FullStateResults {
            try await activity.tellFullState(of: phone, [item(activity, token: 1_000_000)], at: t0 + 60)
        }
        let problem = await activity.problem { try await tell() }
        #expect(problem?.code == .invalidRequest)
        #expect(problem?.detail.contains("\(most)") == true)
        #expect(try await activity.record() == nil)
        try await activity.another("bulk-1").end()
        #expect(try await tell().ended.count == most)
    }
}
