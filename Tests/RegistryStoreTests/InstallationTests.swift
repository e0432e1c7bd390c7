import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite struct InstallationTests {
    private let t0 = Date.minutesAgo(60)

    @Test func `The response to a profile has the time of the current aliases`() async throws {
        let phone = try await TestInstallation.make()
        let alias = Alias.sample("userId", "u-7")
        let first = try await phone.put([alias], metadata: ["build": 7], at: t0 + 60)
        #expect(first.isNew)
        #expect(first.observedAt == t0 + 60)
        #expect(first.aliasesObservedAt == t0 + 60)
        // Omitted aliases are not cleared, and older aliases replace nothing.
        let omitted = try await phone.put(nil, metadata: [:], at: t0 + 120)
        #expect(!omitted.isNew)
        #expect(omitted.aliasesObservedAt == t0 + 60)
        let late = try await phone.put([], at: t0 + 30)
        #expect(late.observedAt == t0 + 30)
        #expect(late.aliasesObservedAt == t0 + 60)
        #expect(try await phone.record()?.metadata.map { String(decoding: $0, as: UTF8.self) } == "{}")
        #expect(try await phone.events() == ["installation-changed", "installation-changed"])
    }

    @Test func `A log-out removes everything observed before it`() async throws {
        let time = Date.minutesAgo(59)
        let phone = try await TestInstallation.make()
        try await phone.put([.sample("userId", "u-7")], metadata: ["build": 7], at: t0)
        try await phone.register(1, at: t0)
        try await phone.register(2, in: TestInstallation.device, at: t0)
        let activity = phone.activity("a-1")
        try await activity.register(3, at: t0, installation: phone.hash)
        try await phone.logOut(at: time)
        let record = try #require(try await phone.record())
        #expect(record.aliases == nil)
        #expect(record.metadata == nil)
        #expect(record.tokens.count == 2 && record.tokens.allSatisfy(\.isDeleted))
        #expect(record.loggedOutAt == time)
        #expect(record.fullStateAt == time)
        #expect(try await activity.record()?.status.state == .ended)
        let kept = try await phone.column(
            """
            SELECT token::text FROM installation_tokens WHERE token IS NOT NULL
            UNION SELECT token::text FROM activities WHERE token IS NOT NULL
            UNION SELECT value FROM installation_aliases
            """
        )
        #expect(kept == [])
        let events = try await phone.events()
        #expect(events.filter { $0 == "deleted" }.count == 2 && events.filter { $0 == "logged-out" }.count == 1)
        #expect(try await activity.events() == ["registered", "ended"])
    }
}

@Suite struct InstallationSweepTests {
    private let phone: TestInstallation

    init() async throws { phone = try await TestInstallation.make() }

    private static let slots = [TestInstallation.delivery, TestInstallation.device]

    @Test(arguments: slots)
    func `Tombstones of tokens are removed after their retention`(_ slot: TokenSlot) async throws {
        try await phone.register(1, in: slot, at: .minutesAgo(5))
        try await phone.another(2).register(2, in: slot, at: .minutesAgo(5))
        try await phone.delete(slot, at: .minutesAgo(4))
        #expect(try await phone.sweep(.removals) == 0)
        // The tombstone exists for as long as late requests may arrive.
        #expect(await phone.problem { try await phone.register(1, in: slot, at: .minutesAgo(5)) }?.code == .superseded)
        try await phone.age(by: "8 days")
        #expect(try await phone.sweep(.removals) == 1)
        #expect(try await phone.rows(in: "installation_tokens") == 1)
        #expect(try await phone.another(2).token(in: slot) == .sample(2))
    }

    @Test(arguments: slots) func `Values without a holder are removed`(_ slot: TokenSlot) async throws {
        try await phone.register(1, in: slot, at: .minutesAgo(6))
        try await phone.register(2, in: slot, at: .minutesAgo(5))
        #expect(try await phone.sweep(.values) == 0)
        try await phone.age(by: "91 days")
        // The current value keeps its APNs feedback, and its next check is due after another retention.
        #expect(try await phone.sweep(.values) == 2)
        #expect(try await phone.rows(in: "token_values") == 1)
        #expect(try await phone.sweep(.values) == 0)
        #expect(try await phone.token(in: slot) == .sample(2))
    }

    @Test(arguments: slots) func `A value that is registered again stays`(_ slot: TokenSlot) async throws {
        try await phone.register(1, in: slot, at: .minutesAgo(6))
        try await phone.register(2, in: slot, at: .minutesAgo(5))
        try await phone.age(by: "91 days")
        try await phone.another(2).register(1, in: slot, at: .minutesAgo(4))
        #expect(try await phone.sweep(.values) == 1)
        #expect(try await phone.another(2).token(in: slot) == .sample(1))
        #expect(try await phone.rows(in: "token_values") == 2)
    }

    /// An installation still held the value at the first sweep.
    @Test(arguments: slots) func `A value replaced later is removed later`(_ slot: TokenSlot) async throws {
        try await phone.register(1, in: slot, at: .minutesAgo(6))
        try await phone.age(by: "91 days")
        #expect(try await phone.sweep(.values) == 1)
        try await phone.register(2, in: slot, at: .minutesAgo(5))
        try await phone.age(by: "91 days")
        #expect(try await phone.sweep(.values) == 2)
        #expect(try await phone.rows(in: "token_values") == 1)
        #expect(try await phone.token(in: slot) == .sample(2))
    }

    @Test func `A value of a removed activity is removed with its installation`() async throws {
        let activity = phone.activity("activity")
        try await activity.register(1, at: .minutesAgo(9))
        try await phone.register(1, in: TestInstallation.device, at: .minutesAgo(6))
        try await phone.register(2, in: TestInstallation.device, at: .minutesAgo(5))
        try await activity.end(at: .minutesAgo(4))
        try await phone.age(by: "91 days")
        #expect(try await phone.sweep(.tombstones) == 1)
        #expect(try await phone.rows(in: "token_values") == 2)
        #expect(try await phone.column("SELECT activity_id FROM token_values WHERE activity_id IS NOT NULL") == [])
        try await phone.age(by: "91 days")
        #expect(try await phone.sweep(.values) == 2)
        #expect(try await phone.rows(in: "token_values") == 1)
    }

    @Test func `Empty installations are found among others`() async throws {
        for number in 2..<12 { try await phone.another(number).register(number, at: .minutesAgo(5)) }
        for number in 12..<15 { try await phone.another(number).put(nil, at: .minutesAgo(5)) }
        try await phone.age(by: "91 days")
        var count = 0
        try await until {
            count += try await phone.registry.sweep(.installations, limit: 4, in: phone.scope).count
            return count == 3
        }
        #expect(try await phone.rows(in: "installations") == 10)
        #expect(try await phone.sweep(.installations) == 0)
    }

    @Test func `Empty installations are removed after a long silence`() async throws {
        try await phone.put([.sample("userId", "u-7")], at: .minutesAgo(6))
        let other = phone.another(2)
        try await other.register(2, at: .minutesAgo(5))
        try await phone.age(by: "89 days")
        #expect(try await phone.sweep(.installations) == 0)
        try await phone.age(by: "2 days")
        #expect(try await phone.sweep(.installations) == 1)
        #expect(try await phone.record() == nil)
        #expect(try await phone.rows(in: "installation_aliases") == 0)
        #expect(try await other.token() == .sample(2))
    }
}

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
        try await state.releaseOnceSomebodyWaits()
        let answer = try await waiting.value
        #expect(answer.outcome == .reactivated)
        #expect(answer.activity.state == .active)
        #expect(try await activity.events() == ["registered", "reactivated"])
    }

    @Test func `An end of all activities under an alias spares one that lost the alias before its lock`() async throws {
        let activity = try await TestActivity.make()
        let order = Alias.sample("orderId", "1")
        try await activity.register(1, at: t0, aliases: [order])
        let change: SQL = "UPDATE activities SET aliases = '{}' WHERE scope_id = \(activity.scope.id)"
        let state = try await HeldTransaction(change, in: activity.database, commits: true)
        let waiting = Task { try await activity.registry.endAll(under: order, in: activity.scope, by: "test") }
        try await state.releaseOnceSomebodyWaits()
        #expect(try await waiting.value == 0)
        #expect(try await activity.record()?.status.state == .active)
    }

    @Test func `A full state creates no activity by an item that is too old`() async throws {
        let activity = try await TestActivity.make()
        let registration = ActivityRegistration.sample(token: .sample(1), startedAt: t0 - 9 * 3600)
        let old = FullState.Item(activityID: activity.id, registration: registration)
        let results = try await activity.tellFullState(of: phone, [old], at: t0).results
        #expect(throws: Problem.self) { try results[0].get() }
        #expect(try await activity.record() == nil)
    }

    @Test func `A user who becomes the owner of an installation is recorded`() async throws {
        let activity = try await TestActivity.make()
        let phone = activity.installation(1).asUser("u-7")
        try await activity.tellFullState(of: phone.hash, at: t0, claimant: phone.claimant)
        try await phone.put(nil, at: t0 + 1)
        try await phone.another(2).asUser("u-7").put(nil, at: t0)
        #expect(try await phone.events() == ["installation-changed"])
        #expect(try await phone.another(2).events() == ["installation-changed"])
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
        #expect(problem?.errors.first?.detail.contains("\(most)") == true)
        #expect(try await activity.record() == nil)
        try await activity.another("bulk-1").end()
        #expect(try await tell().ended.count == most)
    }
}
