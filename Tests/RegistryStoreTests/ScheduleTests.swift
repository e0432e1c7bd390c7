import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R5: a scheduled activity lives from its start, not from its registration.
@Suite struct ScheduleTests {
    private static let alias = Alias.sample("orderId", "42")
    private let t0 = Date.minutesAgo(60)

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    private static func hours(_ date: Date?, after other: Date?) -> Double? {
        guard let date, let other else { return nil }
        return (date.timeIntervalSince(other) / 36).rounded() / 100
    }

    // MARK: The lifetime

    @Test func `An activity lives from its scheduled start`() async throws {
        let activity = try await TestActivity.make()
        let start = after(20 * 60)
        let answer = try await activity.register(1, at: t0, startsAt: start, aliases: [Self.alias]).activity
        #expect(Self.hours(answer.expiresAt, after: start) == 8)
        try await activity.age(by: "16 hours")
        #expect(try await activity.tokens(Self.alias) == [.sample(1)])
        #expect(try await activity.sweep(.expiry) == 0)
        #expect(try await activity.register(2, at: .minutesAgo(1)).outcome == .rotated)
        // 27 hours after the registration, and 7 hours after the start.
        try await activity.age(by: "10 hours")
        let found = try await activity.found(under: Self.alias)
        #expect(found.map(\.token) == [.sample(2)])
        #expect(Self.hours(found.first?.startsAt, after: start) == -26)
        #expect(try await activity.register(2, at: .minutesAgo(0)).outcome == .refreshed)
        try await activity.age(by: "2 hours")
        #expect(await activity.problem { try await activity.register(3, at: nil) }?.code == .activityExpired)
        #expect(try await activity.tokens(Self.alias) == [])
        #expect(try await activity.sweep(.expiry) == 1)
    }

    // MARK: Late registrations

    /// Its end and tombstone may be gone, so an old observation schedules nothing.
    @Test func `A registration that is too old must be observed again`() async throws {
        let activity = try await TestActivity.make()
        let (observed, start) = (Date.minutesAgo(9 * 60), Date.minutesAgo(-5 * 60))
        let late = await activity.problem {
            try await activity.register(1, at: observed, startsAt: start, aliases: [Self.alias])
        }
        #expect(late?.code == .activityExpired)
        #expect(try await activity.record() == nil)
        let again = try await activity.register(1, at: .minutesAgo(0), startsAt: start, aliases: [Self.alias])
        #expect(again.outcome == .registered)
        #expect(again.activity.state == .active)
        #expect(try await activity.tokens(Self.alias) == [.sample(1)])
        let repeated = await activity.problem { try await activity.register(1, at: observed, startsAt: start) }
        #expect(repeated?.code == .activityExpired)
        #expect(repeated?.activity?.state == .active)
        #expect(try await activity.tokens(Self.alias) == [.sample(1)])
        #expect(try await activity.count("SELECT count(*) FROM activity_aliases WHERE NOT ended") == 1)
    }

    @Test func `The new observation can have another token`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: t0, aliases: [Self.alias])
        try await activity.age(by: "9 hours")
        #expect(try await activity.sweep(.expiry) == 1)
        #expect(try await activity.register(2, at: .minutesAgo(0), startsAt: .minutesAgo(-60)).outcome == .rotated)
        #expect(try await activity.tokens(Self.alias) == [.sample(2)])
        #expect(try await activity.retired() == ["rotated"])
    }

    /// Resolve reads the rows of the current aliases, even if the activity had other aliases when it expired.
    @Test(arguments: [[1, 2], [2], [1]])
    func `An activity that returns with other aliases is found only by the new aliases`(numbers: [Int]) async throws {
        let activity = try await TestActivity.make()
        let alias = { (number: Int) in Alias.sample("orderId", "\(number)") }
        try await activity.register(1, at: t0, aliases: [alias(1), alias(3)])
        try await activity.age(by: "9 hours")
        #expect(try await activity.sweep(.expiry) == 1)
        let (now, aliases) = (Date.minutesAgo(0), numbers.map(alias))
        let anew = try await activity.register(1, at: now, startsAt: .minutesAgo(-60), aliases: aliases)
        #expect(anew.outcome == .reactivated)
        for number in 1...3 {
            let tokens = try await activity.tokens(alias(number))
            #expect(tokens == (numbers.contains(number) ? [.sample(1)] : []), "\(number)")
        }
        #expect(try await activity.rows(in: "activity_aliases") == numbers.count)
        #expect(try await activity.count("SELECT count(*) FROM activity_aliases WHERE ended") == 0)
    }

    // MARK: Ends

    @Test func `An end is final, and its tombstone outlives the schedule`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: t0, startsAt: after(20 * 24 * 60))
        try await activity.end(at: after(1))
        let problem = await activity.problem {
            try await activity.register(2, at: after(2), startsAt: after(20 * 24 * 60))
        }
        #expect(problem?.code == .activityEnded)
        // It expires after 20 days and 8 hours, and its tombstone 7 days later.
        for (interval, deleted) in [("19 days", 0), ("8 days", 0), ("1 day", 1)] {
            try await activity.age(by: interval)
            #expect(try await activity.sweep(.tombstones) == deleted, "\(interval)")
        }
    }

    /// The schedule may arrive after the end.
    @Test func `An end before its registration waits for the schedule`() async throws {
        let activity = try await TestActivity.make()
        try await activity.end(at: after(1))
        let problem = await activity.problem { try await activity.register(1, at: t0, startsAt: after(20 * 24 * 60)) }
        #expect(problem?.code == .activityEnded)
        try await activity.age(by: "19 days")
        #expect(try await activity.sweep(.tombstones) == 0)
    }

    @Test func `A full state keeps its items and dismisses the rest`() async throws {
        let activity = try await TestActivity.make()
        let (phone, other) = (InstallationHash.sample(1), activity.another("other"))
        for (number, one) in [activity, other].enumerated() {
            try await one.register(number, at: t0, startsAt: after(600), installation: phone, aliases: [Self.alias])
        }
        let item = FullState.Item(activityID: activity.id, registration: .sample(token: nil, startsAt: after(600)))
        #expect(try await activity.tellFullState(of: phone, [item], at: after(1)).ended == [other.id])
        #expect(try await activity.tokens(Self.alias) == [.sample(0)])
        try await activity.age(by: "10 hours")
        #expect(try await activity.tokens(Self.alias) == [.sample(0)])
    }

    // MARK: The audit

    /// A phone that sleeps until its activity starts confirms nothing.
    @Test func `A scheduled activity is not stale`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: t0, startsAt: after(600))
        func stale() async throws -> [StaleReason] {
            try await activity.registry.staleTokens(limit: 10, in: activity.scope).items.flatMap(\.reasons)
        }
        try await activity.database.run("UPDATE activities SET confirmed_at = now() - interval '5 hours'")
        #expect(try await stale() == [])
        try await activity.age(by: "14 hours")
        #expect(try await stale() == [.unconfirmed])
    }
}
