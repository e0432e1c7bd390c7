import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C17: one id for each install, made once, and not while the keychain is locked.
@Suite struct InstallationIDTests {
    @Test func `An id is 128 random bits in hex, made once`() throws {
        let store = TestInstallationIDStore()
        let (first, second) = (try store.current(), try store.current())
        #expect(first.id.wholeMatch(of: #/[0-9a-f]{32}/#) != nil)
        #expect(first.id != (try TestInstallationIDStore().current().id))
        #expect(!first.isFormer)
        #expect(second.id == first.id)
        #expect(second.isFormer)
        #expect(store.kept == 1)
    }

    @Test func `No id is made while the keychain is locked`() {
        let store = TestInstallationIDStore()
        store.lock()
        #expect(throws: Locked.self) { try store.current() }
        #expect(store.kept == 0)
    }

    @Test func `An id that the keychain cannot store is not used`() {
        #expect(throws: Locked.self) { try TestInstallationIDStore(canKeep: false).current() }
    }

    @Test func `Two processes that make an id at once both use the first`() throws {
        #expect(try TestInstallationIDStore(rival: "made-first").current().id == "made-first")
    }
}
