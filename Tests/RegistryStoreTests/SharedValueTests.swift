import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// R7: a value of several records. A release or purge writes an event for each affected token, and no other.
@Suite(.timeLimit(.minutes(5))) struct SharedValueTests {
    @Test func `Releasing a token at an installation that lost it keeps the quarantine`() async throws {
        let former = try await TestInstallation.make(1)
        let owner = former.another(2)
        try await former.register(1, in: TestInstallation.device, at: .minutesAgo(10))
        try await owner.register(1, in: TestInstallation.device, at: .minutesAgo(5))
        try await owner.suspect([1])
        try await former.release(TestInstallation.device)
        #expect(try await owner.token(in: TestInstallation.device) == nil)
        try await owner.release(TestInstallation.device)
        #expect(try await owner.token(in: TestInstallation.device) == .sample(1))
        #expect(try await owner.events().last == "released")
        #expect(try await !former.events().contains("released"))
    }

    @Test func `Releasing a value of several installations writes an event for each`() async throws {
        let one = try await TestInstallation.make(1)
        let phones = [one, one.another(2)]
        for phone in phones { try await phone.register(1, in: TestInstallation.delivery, at: .minutesAgo(5)) }
        try await one.suspect([1])
        for phone in phones { #expect(try await phone.token(in: TestInstallation.delivery) == nil) }
        try await one.release(TestInstallation.delivery)
        for phone in phones {
            #expect(try await phone.token(in: TestInstallation.delivery) == .sample(1))
            #expect(try await phone.events().last == "released")
        }
        try await one.release(TestInstallation.delivery)
        #expect(try await one.events().filter { $0 == "released" }.count == 1)
    }

    @Test func `Purging an activity's token writes an event for each start token with the same value`() async throws {
        let phone = try await TestInstallation.make(1)
        let later = phone.another(2)
        let activity = phone.activity("a")
        try await phone.register(1, at: .minutesAgo(10))
        try await activity.register(1, at: .minutesAgo(5))
        try await later.register(1, at: .minutesAgo(1))
        // The start tokens are confirmed, so they are not stale themselves.
        _ = try await phone.database.pool.withSession { session in
            try session.execute("UPDATE activities SET confirmed_at = now() - interval '9 days'").affectedRows
        }
        var filter = StaleFilter()
        filter.unconfirmedFor = .seconds(8 * 86_400)
        #expect(try await phone.registry.purgeStaleTokens(filter, in: phone.scope, by: "admin") == 1)
        #expect(try await phone.token() == nil)
        #expect(try await phone.events() == ["registered", "purged"])
        #expect(try await later.token() == .sample(1))
        #expect(try await later.events() == ["registered"])
    }

    @Test func `A device token replaces tokens with the same value in other records`() async throws {
        let activity = try await TestActivity.make()
        let phone = activity.installation(1)
        try await activity.register(7, at: .minutesAgo(60))
        try await phone.another(2).register(7, at: .minutesAgo(60))
        #expect(try await phone.register(7, in: TestInstallation.device, at: .minutesAgo(90)).outcome == .registered)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.record()?.status.reason == "kind-conflict")
        #expect(try await activity.events() == ["registered", "taken-over"])
        #expect(try await activity.retired() == ["taken-over"])
        #expect(try await phone.another(2).token() == nil)
        #expect(try await phone.another(2).events() == ["registered", "taken-over"])
        // A refresh and a takeover of the known value do not change other records again.
        try await phone.register(7, in: TestInstallation.device, at: .minutesAgo(59))
        try await phone.another(3).register(7, in: TestInstallation.device, at: .minutesAgo(58))
        #expect(try await activity.events() == ["registered", "taken-over"])
    }

    @Test func `Values of a kind with a token per attributes type may repeat`() async throws {
        let phone = try await TestInstallation.make()
        let other = phone.another(2)
        let kind = TokenKind(name: "beacon", holder: .attributesType, topicSuffix: "", pushType: "background")
        let slot = TokenSlot(of: kind, try AttributesType("DeliveryAttributes"))
        for phone in [phone, other] { try await phone.register(1, in: slot, at: .minutesAgo(60)) }
        #expect(try await phone.token(in: slot) == .sample(1))
        #expect(try await other.token(in: slot) == .sample(1))
        #expect(try await phone.report(1, 410, "Unregistered") == .dropped)
        for phone in [phone, other] { #expect(try await phone.token(in: slot) == nil) }
        #expect(try await other.events() == ["registered", "dropped"])
    }

    @Test func `Environments and apps never mix`() async throws {
        let phone = try await TestInstallation.make()
        let (activity, alias) = (phone.activity("a"), Alias.sample("orderId", "42"))
        try await activity.register(1, at: .minutesAgo(60), aliases: [alias])
        try await phone.register(2, in: TestInstallation.device, at: .minutesAgo(60))
        let production = Scope(app: phone.scope.app, environment: .production)
        for scope in [production, try await phone.database.scope("com.example.other")] {
            #expect(try await phone.registry.activity(activity.id, in: scope) == nil)
            #expect(try await phone.registry.activities(under: alias, limit: 9, in: scope) == [])
            let other = TestInstallation(database: phone.database, scope: scope, hash: .sample(2))
            try await other.register(2, in: TestInstallation.device, at: .minutesAgo(59))
            try await other.activity("a").register(1, at: .minutesAgo(59))
        }
        #expect(try await phone.token(in: TestInstallation.device) == .sample(2))
        #expect(try await activity.tokens(alias) == [.sample(1)])
    }
}
