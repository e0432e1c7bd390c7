import RegistryClientTestSupport
import Testing

@testable import RegistryClient

/// C17: one id for each install, made once, and never while the keychain is locked.
@Suite struct InstallationIDTests {
    @Test("It is 128 random bits in hex, made once") func madeOnce() throws {
        let secrets = TestSecrets()
        let numbers = Numbers([0xab, UInt64.max])
        let first = try #require(InstallationID.current(in: secrets, random: numbers.next))
        #expect(first.text == "00000000000000abffffffffffffffff")
        #expect(InstallationID.current(in: secrets, random: numbers.next) == first)
        #expect(secrets.kept == 1)
    }

    @Test("None is made while the keychain is locked") func neverWhileLocked() {
        let secrets = TestSecrets()
        secrets.lock()
        #expect(InstallationID.current(in: secrets, random: { 1 }) == nil)
        #expect(secrets.kept == 0)
    }

    @Test("One that cannot be kept is not used") func notKept() {
        let secrets = TestSecrets(canKeep: false)
        #expect(InstallationID.current(in: secrets, random: { 1 }) == nil)
    }

    @Test("Of two processes that make one, both use the first") func twoProcesses() {
        let secrets = TestSecrets(rival: "made-by-the-extension")
        #expect(InstallationID.current(in: secrets, random: { 1 })?.text == "made-by-the-extension")
    }

    @Test("It prints as nothing") func printsAsNothing() {
        var shown = "\(InstallationID("secret")) \(String(reflecting: InstallationID("secret")))"
        dump(InstallationID("secret"), to: &shown)
        #expect(!shown.contains("secret"))
    }
}
