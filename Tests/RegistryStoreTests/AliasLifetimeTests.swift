import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R5 for activities known only by a name: the lifetime decides whether a token rotates the activity or begins the
/// next.
@Suite struct AliasLifetimeTests {
    private static func change(_ identity: TestIdentity, lifetime: Duration) async throws -> TestIdentity {
        var changes = AppChanges()
        (changes.activityLifetime, changes.tombstoneRetention) = (lifetime, .seconds(30 * 86_400))
        let scope = try await identity.database.scope("com.example.food", .sandbox, changes)
        return TestIdentity(database: identity.database, scope: scope, alias: identity.alias)
    }

    @Test func `A shorter lifetime applies to the next activity`() async throws {
        let identity = try await TestIdentity.make()
        let first = try await identity.post(1, at: .minutesAgo(90)).activity
        let changed = try await Self.change(identity, lifetime: .seconds(3600))
        let second = try await changed.post(2, at: .minutesAgo(1))
        #expect(second.outcome == .rotated)
        #expect(second.activity.activityID == first.activityID)
        #expect(try await changed.tokens() == [.sample(2)])
        #expect(second.activity.expiresAt == first.expiresAt)
    }

    @Test func `A longer lifetime applies to the next activity`() async throws {
        let identity = try await TestIdentity.make()
        let short = try await Self.change(identity, lifetime: .seconds(3600))
        let first = try await short.post(1, at: .minutesAgo(50)).activity
        try await short.age(by: "1 hour")
        let changed = try await Self.change(identity, lifetime: .seconds(8 * 3600))
        let second = try await changed.post(2, at: .minutesAgo(1))
        #expect(second.outcome == .registered)
        #expect(second.activity.activityID != first.activityID)
        #expect(try await changed.tokens() == [.sample(2)])
    }

    @Test func `The lifetime counts from the given start, also for a name`() async throws {
        let identity = try await TestIdentity.make()
        let start = Date.minutesAgo(60)
        let first = try await identity.post(1, at: .minutesAgo(7 * 60 + 50), startedAt: start).activity
        #expect(first.expiresAt == start.addingTimeInterval(8 * 3600))
        let second = try await identity.post(2, at: .minutesAgo(-4))
        #expect(second.outcome == .rotated)
        #expect(second.activity.activityID == first.activityID)
    }

    @Test func `A scheduled activity rotates until eight hours after its start`() async throws {
        let identity = try await TestIdentity.make()
        let start = Date.minutesAgo(-16 * 60)
        let first = try await identity.post(1, at: .minutesAgo(0), startsAt: start).activity
        #expect(first.expiresAt == start.addingTimeInterval(8 * 3600))
        try await identity.age(by: "12 hours")
        let second = try await identity.post(2, at: .minutesAgo(1))
        #expect(second.outcome == .rotated)
        #expect(second.activity.activityID == first.activityID)
        try await identity.age(by: "13 hours")
        let third = try await identity.post(3, at: .minutesAgo(1))
        #expect(third.outcome == .registered)
        #expect(third.activity.activityID != first.activityID)
    }

    @Test func `The name is kept until the activity is removed`() async throws {
        let identity = try await TestIdentity.make()
        let first = try await identity.post(1, at: .minutesAgo(0), startsAt: .minutesAgo(-25 * 24 * 60)).activity
        try await identity.age(by: "20 days")
        #expect(try await identity.registry.sweep(.identities, limit: 100, in: identity.scope) == 0)
        #expect(try await identity.post(2, at: .minutesAgo(1)).activity.activityID == first.activityID)
        #expect(try await identity.post(3, at: .minutesAgo(0)).activity.activityID == first.activityID)
    }
}
