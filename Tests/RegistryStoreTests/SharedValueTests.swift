import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// A release or purge of a shared value writes an event for each affected token, and no other.
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
}
