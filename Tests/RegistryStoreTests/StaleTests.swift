import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct StaleTests {
    private let device = TestInstallation.device

    private struct Life: Fixture {
        let activity: TestActivity
        let phone: TestInstallation
        var database: TestDatabase { activity.database }
        var scope: Scope { activity.scope }

        static func make() async throws -> Life {
            let activity = try await TestActivity.make()
            let phone = activity.installation(1)
            try await activity.register(1, at: .minutesAgo(20), attributesType: "Match")
            try await phone.register(2, at: .minutesAgo(20))
            try await phone.register(3, in: TestInstallation.device, at: .minutesAgo(20))
            return Life(activity: activity, phone: phone)
        }

        func stale(_ change: (inout StaleFilter) -> Void = { _ in }) async throws -> [StaleToken] {
            try await registry.staleTokens(filter(change), limit: 100, in: scope).items
        }

        func filter(_ change: (inout StaleFilter) -> Void) -> StaleFilter {
            var filter = StaleFilter()
            change(&filter)
            return filter
        }

        func age(_ interval: String) async throws {
            for table in ["activities", "installation_tokens"] {
                try await database.script("UPDATE \(table) SET confirmed_at = now() - interval '\(interval)'")
            }
        }

        func purge(_ change: (inout StaleFilter) -> Void = { _ in }) async throws -> Int {
            try await registry.purgeStaleTokens(filter(change), in: scope, by: "admin")
        }
    }

    @Test func `A confirmed token is not stale`() async throws {
        let life = try await Life.make()
        #expect(try await life.stale().isEmpty)
        #expect(try await life.stale { $0.unconfirmedFor = .seconds(60) }.isEmpty)
    }

    @Test func `A token is unconfirmed after its kind's own time or the requested one`() async throws {
        let life = try await Life.make()
        try await life.age("3 hours")
        #expect(try await life.stale().map(\.kind) == [.update])
        #expect(try await life.stale { $0.unconfirmedFor = .seconds(3600) }.map(\.kind) == [.update, .start, .device])
        #expect(try await life.stale { $0.unconfirmedFor = .seconds(4 * 3600) }.isEmpty)
        try await life.age("4 days")
        let all = try await life.stale()
        #expect(all.map(\.kind) == [.update, .start, .device])
        #expect(all.map(\.reasons) == [[.unconfirmed], [.unconfirmed], [.unconfirmed]])
        #expect(all[0].unconfirmedFor >= .seconds(4 * 86_400))
        #expect(try await life.stale { $0.kind = .start }.map(\.attributesType) == ["Delivery"])
        #expect(try await life.stale { $0.attributesType = TestInstallation.types[1] }.map(\.kind) == [.update])
    }

    /// A phone that sleeps until its activity starts confirms nothing.
    @Test func `A scheduled activity is not stale`() async throws {
        let life = try await Life.make()
        try await life.activity.register(1, at: .minutesAgo(10), startsAt: .minutesAgo(-600))
        try await life.age("5 hours")
        #expect(try await life.stale { $0.kind = .update }.isEmpty)
        try await life.database.age("activities", ["starts_at"], by: "14 hours")
        #expect(try await life.stale { $0.kind = .update }.map(\.reasons) == [[.unconfirmed]])
    }

    @Test func `A token is stale past its expiry until the sweep`() async throws {
        let life = try await Life.make()
        try await life.database.run(
            "UPDATE activities SET started_at = now() - interval '9 hours', expires_at = now() - interval '1 hour'"
        )
        #expect(try await life.stale().map(\.reasons) == [[.expired]])
        #expect(try await life.sweep(.expiry) == 1)
        #expect(try await life.stale().isEmpty)
    }

    @Test func `Quarantined tokens are found with and without a filter`() async throws {
        let life = try await Life.make()
        for number in 1...3 { #expect(try await life.report(number, 400, "DeviceTokenNotForTopic") == .quarantined) }
        for reason in [nil, StaleReason.quarantined] {
            let found = try await life.stale { $0.reason = reason }
            #expect(found.map(\.kind) == [.update, .start, .device])
            #expect(found.allSatisfy { $0.reasons == [.quarantined] })
            #expect(found.allSatisfy { $0.quarantineReason == "DeviceTokenNotForTopic" })
        }
        try await life.activity.register(1, at: .minutesAgo(-1))
        #expect(try await life.stale { $0.reason = .quarantined }.map(\.kind) == [.start, .device])
    }

    @Test func `A quarantined value is found in each kind that holds it`() async throws {
        let life = try await Life.make()
        try await life.phone.register(1, at: .minutesAgo(15))
        #expect(try await life.report(1, 400, "DeviceTokenNotForTopic") == .quarantined)
        for reason in [nil, StaleReason.quarantined] {
            #expect(try await life.stale { $0.reason = reason }.map(\.kind) == [.update, .start])
        }
    }

    @Test func `A dead token and a token of another owner are not stale`() async throws {
        let life = try await Life.make()
        try await life.activity.another("thief").register(1, at: .minutesAgo(5))
        #expect(try await life.report(2, 410) == .dropped)
        try await life.phone.delete(device, at: .minutesAgo(1))
        try await life.age("9 days")
        #expect(try await life.stale().map(\.activityID) == ["thief"])
    }

    @Test func `The next page begins after the last row`() async throws {
        let life = try await Life.make()
        for number in 10..<40 { try await life.activity.another("a-\(number)").register(number, at: .minutesAgo(5)) }
        try await life.age("9 days")
        var (found, position): ([StaleToken], ListPosition?) = ([], .start)
        while let start = position {
            let page = try await life.registry.staleTokens(after: start, limit: 7, in: life.scope)
            #expect(page.items.count <= 7)
            found += page.items
            position = page.next
        }
        #expect(found.count == 33 && Set(found.map { [$0.kind.name, "\($0.number)"] }).count == 33)
    }

    // MARK: Purge

    @Test func `A dry run counts and changes nothing`() async throws {
        let life = try await Life.make()
        try await life.age("9 days")
        let counts = try await life.registry.countStaleTokens(in: life.scope)
        #expect(counts.total == 3)
        #expect(counts.isComplete)
        #expect(counts.sample.count == 3)
        #expect(counts.entries.map(\.count) == [1, 1, 1])
        #expect(try await life.activity.currentToken() == .sample(1))
        #expect(try await life.phone.token() == .sample(2))
    }

    @Test func `A purge drops a token, and a later observation brings it back`() async throws {
        let life = try await Life.make()
        try await life.age("9 days")
        #expect(try await life.purge { $0.kind = .update } == 1)
        #expect(try await life.activity.currentToken() == nil)
        #expect(try await life.activity.record()?.status.state == .active)
        #expect(try await life.activity.events() == ["registered", "purged"])
        #expect(try await life.activity.retired() == ["purged"])
        #expect(try await life.phone.token() == .sample(2))
        #expect(try await life.purge() == 2)
        #expect(try await life.phone.token() == nil)
        #expect(try await life.phone.token(in: device) == nil)
        #expect(try await life.phone.events().suffix(2) == ["purged", "purged"])
        #expect(try await life.purge() == 0)
        // An earlier observation does not restore the token, and its caller gets the reason.
        let again = await life.activity.problem { try await life.activity.register(1, at: .minutesAgo(21)) }
        #expect(again?.code == .tokenUnregistered)
        #expect(again?.activity?.reason == "purged")
        #expect(await life.phone.problem { try await life.phone.register(2, at: .minutesAgo(21)) }?.code == .superseded)
        #expect(try await life.activity.register(1, at: .minutesAgo(10)).outcome == .reactivated)
        #expect(try await life.activity.currentToken() == .sample(1))
        #expect(try await life.phone.register(2, at: .minutesAgo(10)).outcome == .reactivated)
        // Without a time, a start or device token counts as observed now.
        #expect(try await life.phone.register(3, in: device, at: nil).outcome == .reactivated)
        #expect(try await life.stale().isEmpty)
    }

    @Test func `A purge that races confirmations purges no confirmed token`() async throws {
        let root = try await TestActivity.make()
        let registry = root.registry
        let activities = (0..<60).map { root.another("a-\($0)") }
        for (number, activity) in activities.enumerated() { try await activity.register(number, at: .minutesAgo(30)) }
        try await root.database.run("UPDATE activities SET confirmed_at = now() - interval '3 hours'")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await registry.purgeStaleTokens(in: root.scope, by: "admin") }
            for (number, activity) in activities.enumerated() where number.isMultiple(of: 2) {
                group.addTask { _ = try await activity.register(number, at: .minutesAgo(1)) }
            }
            try await group.waitForAll()
        }
        for (number, activity) in activities.enumerated() {
            let expected: PushToken? = number.isMultiple(of: 2) ? .sample(number) : nil
            #expect(try await activity.currentToken() == expected, "\(number)")
        }
    }
}
