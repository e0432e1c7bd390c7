import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C17: one id for each install, made once, and not while the keychain is locked.
@Suite struct InstallationIDTests {
    @Test func `An id is 128 random bits in hex, made once`() {
        let store = TestInstallationIDStore()
        let numbers = Numbers([0xab, UInt64.max])
        let (first, second) = (store.current(random: numbers.next), store.current(random: numbers.next))
        #expect(first.id == "00000000000000abffffffffffffffff")
        #expect(!first.isFormer)
        #expect(second.id == first.id)
        #expect(second.isFormer)
        #expect(store.kept == 1)
    }

    @Test func `No id is made while the keychain is locked`() {
        let store = TestInstallationIDStore()
        store.lock()
        #expect(store.current(random: { 1 }).id == nil)
        #expect(store.kept == 0)
    }

    @Test func `An id that the keychain cannot store is not used`() {
        #expect(TestInstallationIDStore(canKeep: false).current(random: { 1 }).id == nil)
    }

    @Test func `Two processes that make an id at once both use the first`() {
        let store = TestInstallationIDStore(rival: "made-first")
        #expect(store.current(random: { 1 }).id == "made-first")
    }
}
