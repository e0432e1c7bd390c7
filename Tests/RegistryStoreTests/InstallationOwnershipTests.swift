import Foundation
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R7 for tokens of installations: one owner per device token, separate kinds, and values that return.
@Suite struct InstallationOwnershipTests {
    private let t0 = Date.minutesAgo(60)
    private let device = TestInstallation.device

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    @Test func `A later claim takes over a device token`() async throws {
        let old = try await TestInstallation.make(1)
        let new = old.another(2)
        try await old.register(7, in: device, at: t0)
        #expect(try await new.register(7, in: device, at: after(1)).outcome == .registered)
        #expect(try await old.token(in: device) == nil)
        #expect(try await new.token(in: device) == .sample(7))
        #expect(try await old.events() == ["registered", "taken-over"])
        #expect(try await old.record()?.tokens.map(\.reason) == ["taken-over"])
        let late = await old.problem { try await old.register(7, in: device, at: after(0.5)) }
        #expect(late?.code == .superseded)
        #expect(late?.token?.reason == "taken-over")
        #expect(try await old.register(7, in: device, at: after(2)).outcome == .reactivated)
        #expect(try await old.token(in: device) == .sample(7))
        #expect(try await new.token(in: device) == nil)
        #expect(try await new.events() == ["registered", "taken-over"])
    }

    @Test func `Ownership stays after rotation and deletion`() async throws {
        let owner = try await TestInstallation.make(1)
        let other = owner.another(2)
        try await owner.register(7, in: device, at: after(1))
        try await owner.register(8, in: device, at: after(2))
        #expect(await other.problem { try await other.register(7, in: device, at: t0) }?.code == .superseded)
        #expect(try await other.token(in: device) == nil)
    }

    @Test func `Environments never mix`() async throws {
        let sandbox = try await TestInstallation.make()
        let scope = try await sandbox.database.scope("com.example.food", .production)
        let production = TestInstallation(database: sandbox.database, scope: scope, hash: .sample(2))
        try await sandbox.register(7, in: device, at: t0)
        try await production.register(7, in: device, at: after(1))
        #expect(try await sandbox.token(in: device) == .sample(7))
    }

    // MARK: Kinds apart

    @Test func `A device token replaces tokens with the same value in other records`() async throws {
        let activity = try await TestActivity.make()
        let phone = activity.installation(1)
        try await activity.register(7, at: t0)
        try await phone.another(2).register(7, at: t0)
        #expect(try await phone.register(7, in: device, at: .minutesAgo(90)).outcome == .registered)
        #expect(try await activity.currentToken() == nil)
        #expect(try await activity.record()?.status.reason == "kind-conflict")
        #expect(try await activity.events() == ["registered", "taken-over"])
        #expect(try await activity.retired() == ["taken-over"])
        #expect(try await phone.another(2).token() == nil)
        #expect(try await phone.another(2).events() == ["registered", "taken-over"])
        // A refresh and a takeover of the known value do not change other records again.
        try await phone.register(7, in: device, at: after(1))
        try await phone.another(3).register(7, in: device, at: after(2))
        #expect(try await activity.events() == ["registered", "taken-over"])
    }

    @Test func `Resolve finds widget and device tokens, and only one kind has a value`() async throws {
        let phone = try await TestInstallation.make()
        let alias = Alias.sample("userId", "u-7")
        try await phone.put([alias], at: t0)
        try await phone.register(1, in: device, at: t0)
        try await phone.register(2, in: TestInstallation.widget, at: t0)
        #expect(try await phone.found(alias, .device) == [.sample(1)])
        #expect(try await phone.found(alias, .widget) == [.sample(2)])
        try await phone.register(2, in: device, at: after(1))
        #expect(try await phone.found(alias, .widget) == [])
        #expect(try await phone.found(alias, .device) == [.sample(2)])
    }

    /// The settings of a kind decide whether its values have one owner.
    @Test func `Values of a kind may repeat`() async throws {
        let phone = try await TestInstallation.make()
        let other = phone.another(2)
        let (name, push) = ("beacon", "background")
        let kind = TokenKind(name: name, holder: .installation, hasOneOwner: false, topicSuffix: "", pushType: push)
        for phone in [phone, other] { try await phone.register(1, in: .only(kind), at: t0) }
        #expect(try await phone.token(in: .only(kind)) == .sample(1))
        #expect(try await other.token(in: .only(kind)) == .sample(1))
        #expect(try await phone.report(1, 410, "Unregistered") == .dropped)
        for phone in [phone, other] { #expect(try await phone.token(in: .only(kind)) == nil) }
        #expect(try await other.events() == ["registered", "dropped"])
    }

    @Test func `Without times, a returning value is accepted each time`() async throws {
        let phone = try await TestInstallation.make()
        for token in [1, 2, 1, 2] {
            try await phone.register(token, at: nil)
            #expect(try await phone.token() == .sample(token))
        }
    }
}
