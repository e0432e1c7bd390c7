import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

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
