import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite struct InstallationSweepTests {
    private static let slots = [TestInstallation.delivery, TestInstallation.device]

    @Test(arguments: slots)
    func `Tombstones of tokens are removed after their retention`(_ slot: TokenSlot) async throws {
        let phone = try await TestInstallation.make()
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
        let phone = try await TestInstallation.make()
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
        let phone = try await TestInstallation.make()
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
        let phone = try await TestInstallation.make()
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
        let phone = try await TestInstallation.make()
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
        let phone = try await TestInstallation.make()
        for number in 2..<12 { try await phone.another(number).register(number, at: .minutesAgo(5)) }
        for number in 12..<15 { try await phone.another(number).put(nil, at: .minutesAgo(5)) }
        try await phone.age(by: "91 days")
        var count = 0
        try await until {
            count += try await phone.registry.sweep(.installations, limit: 4, in: phone.scope)
            return count == 3
        }
        #expect(try await phone.rows(in: "installations") == 10)
        #expect(try await phone.sweep(.installations) == 0)
    }

    @Test func `Empty installations are removed after a long silence`() async throws {
        let phone = try await TestInstallation.make()
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
