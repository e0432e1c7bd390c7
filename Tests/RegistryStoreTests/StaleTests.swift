import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct StaleTests: Fixture {
    private let device = TestInstallation.device
    private let activity: TestActivity
    let database: TestDatabase
    let scope: Scope

    init() async throws {
        activity = try await TestActivity.make()
        (database, scope) = (activity.database, activity.scope)
        try await activity.register(1, at: .minutesAgo(20), attributesType: "Match")
        try await phone.register(2, at: .minutesAgo(20))
        try await phone.register(3, in: device, at: .minutesAgo(20))
    }

    private var phone: TestInstallation { installation(1) }

    private func stale(_ change: (inout StaleFilter) -> Void = { _ in }) async throws -> [StaleToken] {
        try await registry.staleTokens(filter(change), limit: 100, in: scope).items
    }

    private func filter(_ change: (inout StaleFilter) -> Void) -> StaleFilter {
        var filter = StaleFilter()
        change(&filter)
        return filter
    }

    private func confirm(_ interval: String) async throws {
        for table in ["activities", "installation_tokens"] {
            try await database.script("UPDATE \(table) SET confirmed_at = now() - interval '\(interval)'")
        }
    }

    private func purge(_ change: (inout StaleFilter) -> Void = { _ in }) async throws -> Int {
        try await registry.purgeStaleTokens(filter(change), in: scope, by: "admin")
    }

    @Test func `A confirmed token is not stale`() async throws {
        #expect(try await stale().isEmpty)
        #expect(try await stale { $0.unconfirmedFor = .seconds(60) }.isEmpty)
    }

    @Test func `A token is unconfirmed after its kind's own time or the requested one`() async throws {
        try await confirm("3 hours")
        #expect(try await stale().map(\.kind) == [.update])
        #expect(try await stale { $0.unconfirmedFor = .seconds(3600) }.map(\.kind) == [.update, .start, .device])
        #expect(try await stale { $0.unconfirmedFor = .seconds(4 * 3600) }.isEmpty)
        try await confirm("4 days")
        let all = try await stale()
        #expect(all.map(\.kind) == [.update, .start, .device])
        #expect(all.map(\.reasons) == [[.unconfirmed], [.unconfirmed], [.unconfirmed]])
        #expect(all[0].unconfirmedFor >= .seconds(4 * 86_400))
        #expect(try await stale { $0.kind = .start }.map(\.attributesType) == ["Delivery"])
        #expect(try await stale { $0.attributesType = TestInstallation.types[1] }.map(\.kind) == [.update])
    }

    /// A phone that sleeps until its activity starts confirms nothing.
    @Test func `A scheduled activity is not stale`() async throws {
        try await activity.register(1, at: .minutesAgo(10), startsAt: .minutesAgo(-600))
        try await confirm("5 hours")
        #expect(try await stale { $0.kind = .update }.isEmpty)
        try await database.age("activities", ["starts_at"], by: "14 hours")
        #expect(try await stale { $0.kind = .update }.map(\.reasons) == [[.unconfirmed]])
    }

    @Test func `A token is stale past its expiry until the sweep`() async throws {
        try await database.run(
            "UPDATE activities SET started_at = now() - interval '9 hours', expires_at = now() - interval '1 hour'"
        )
        #expect(try await stale().map(\.reasons) == [[.expired]])
        #expect(try await sweep(.expiry) == 1)
        #expect(try await stale().isEmpty)
    }

    @Test func `Quarantined tokens are found with and without a filter`() async throws {
        for number in 1...3 { #expect(try await report(number, 400, "DeviceTokenNotForTopic") == .quarantined) }
        for reason in [nil, StaleReason.quarantined] {
            let found = try await stale { $0.reason = reason }
            #expect(found.map(\.kind) == [.update, .start, .device])
            #expect(found.allSatisfy { $0.reasons == [.quarantined] })
            #expect(found.allSatisfy { $0.quarantineReason == "DeviceTokenNotForTopic" })
        }
        try await activity.register(1, at: .minutesAgo(-1))
        #expect(try await stale { $0.reason = .quarantined }.map(\.kind) == [.start, .device])
    }

    @Test func `A quarantined value is found in each kind that holds it`() async throws {
        try await phone.register(1, at: .minutesAgo(15))
        #expect(try await report(1, 400, "DeviceTokenNotForTopic") == .quarantined)
        for reason in [nil, StaleReason.quarantined] {
            #expect(try await stale { $0.reason = reason }.map(\.kind) == [.update, .start])
        }
    }

    @Test func `A dead token and a token of another owner are not stale`() async throws {
        try await activity.another("thief").register(1, at: .minutesAgo(5))
        #expect(try await report(2, 410) == .dropped)
        try await phone.delete(device, at: .minutesAgo(1))
        try await confirm("9 days")
        #expect(try await stale().map(\.activityID) == ["thief"])
    }

    @Test func `The next page begins after the last row`() async throws {
        for number in 10..<40 { try await activity.another("a-\(number)").register(number, at: .minutesAgo(5)) }
        try await confirm("9 days")
        let pages = try await readPages(\.next) { try await registry.staleTokens(after: $0, limit: 7, in: scope) }
        #expect(pages.allSatisfy { $0.items.count <= 7 })
        let found = pages.flatMap(\.items)
        #expect(found.count == 33 && Set(found.map { [$0.kind.name, "\($0.number)"] }).count == 33)
    }

    @Test func `A dry run counts and changes nothing`() async throws {
        try await confirm("9 days")
        let counts = try await registry.countStaleTokens(in: scope)
        #expect(counts.total == 3)
        #expect(counts.isComplete)
        #expect(counts.sample.count == 3)
        #expect(counts.entries.map(\.count) == [1, 1, 1])
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await phone.token() == .sample(2))
    }

    @Test func `A purge drops a token, and a later observation brings it back`() async throws {
        try await confirm("9 days")
        #expect(try await purge { $0.kind = .update } == 1)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.record()?.status.state == .active)
        #expect(try await activity.events() == ["registered", "purged"])
        #expect(try await activity.retired() == ["purged"])
        #expect(try await phone.token() == .sample(2))
        #expect(try await purge() == 2)
        #expect(try await phone.token() == nil)
        #expect(try await phone.token(in: device) == nil)
        #expect(try await phone.events().suffix(2) == ["purged", "purged"])
        #expect(try await purge() == 0)
        // An earlier observation does not restore the token, and its caller gets the reason.
        let again = await activity.problem { try await activity.register(1, at: .minutesAgo(21)) }
        #expect(again?.code == .tokenUnregistered)
        #expect(again?.activity?.reason == "purged")
        #expect(await phone.problem { try await phone.register(2, at: .minutesAgo(21)) }?.code == .superseded)
        #expect(try await activity.register(1, at: .minutesAgo(10)).outcome == .reactivated)
        #expect(try await activity.currentToken() == .sample(1))
        #expect(try await phone.register(2, at: .minutesAgo(10)).outcome == .reactivated)
        // Without a time, a start or device token counts as observed now.
        #expect(try await phone.register(3, in: device, at: nil).outcome == .reactivated)
        #expect(try await stale().isEmpty)
    }

    @Test func `A purge that races confirmations purges no confirmed token`() async throws {
        let activities = (100..<160).map { (number: $0, activity: activity.another("a-\($0)")) }
        for (number, activity) in activities { try await activity.register(number, at: .minutesAgo(30)) }
        try await database.run("UPDATE activities SET confirmed_at = now() - interval '3 hours'")
        async let purged = registry.purgeStaleTokens(in: scope, by: "admin")
        try await concurrently(activities.filter { $0.number.isMultiple(of: 2) }) { number, activity in
            _ = try await activity.register(number, at: .minutesAgo(1))
        }
        _ = try await purged
        for (number, activity) in activities {
            let expected: PushToken? = number.isMultiple(of: 2) ? .sample(number) : nil
            #expect(try await activity.currentToken() == expected, "\(number)")
        }
    }
}
