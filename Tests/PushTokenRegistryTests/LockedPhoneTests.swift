import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C10, C17: before the first unlock neither file nor keychain is readable.
@Suite(.timeLimit(.minutes(1))) struct LockedPhoneTests {
    private static func waiting(_ report: Report, at seconds: Double) -> Data {
        var state = StoredState()
        let entry = OutboxEntry(id: 99, report: report, observedAt: .at(seconds), owner: .installation)
        _ = state.outbox.add(entry)
        return state.bytes
    }

    @Test func `An unreadable file stays and is merged with later reports once it is readable`() async throws {
        let storage = TestStorage(Self.waiting(.token("aa", of: "before"), at: -60))
        let bytes = storage.bytes
        storage.lock()
        let phone = TestPhone(storage: storage)
        phone.registry.report(.token("bb", of: "meanwhile"))
        #expect(await phone.isQuiet())
        #expect(storage.bytes == bytes)
        storage.unlock()
        phone.registry.retryNow()
        let calls = await phone.transport.next(2)
        #expect(calls.map(\.path) == ["PUT /activities/before", "PUT /activities/meanwhile"])
        #expect(storage.entries.count == 2)
    }

    @Test func `A file that becomes unreadable after its first read loses no report`() async {
        let storage = TestStorage(Self.waiting(.token("aa", of: "before"), at: -60))
        let phone = TestPhone(storage: storage)
        await phone.registry.drain()
        phone.transport.setOffline()
        storage.lock()
        phone.registry.report(.token("bb", of: "meanwhile"))
        await phone.registry.drain()
        storage.unlock()
        phone.registry.report(.token("cc", of: "later"))
        await phone.registry.drain()
        let names = ["before", "meanwhile", "later"].map { LiveActivityRegistry.Subject.activity($0) }
        #expect(storage.entries.map(\.subject) == names)
    }

    @Test func `An observation on a locked phone keeps its time and replaces an earlier one`() async {
        let storage = TestStorage(Self.waiting(.token("aa"), at: -60))
        storage.lock()
        let phone = TestPhone(storage: storage)
        phone.clock.advance(by: 10)
        phone.registry.report(.token("bb"))
        await phone.registry.drain()
        phone.clock.advance(by: 3600)
        storage.unlock()
        phone.registry.retryNow()
        let call = await phone.transport.next()
        #expect(call["token"] == "bb")
        #expect(call.observedAt == .at(10))
    }

    @Test func `A locked keychain delays all requests, which later use the stored id`() async {
        let installationIDs = TestInstallationIDStore("the-id")
        installationIDs.lock()
        let phone = TestPhone(installationIDs: installationIDs)
        phone.registry.report(.token("aa"))
        #expect(await phone.isQuiet())
        #expect(installationIDs.kept == 0)
        installationIDs.unlock()
        phone.registry.retryNow()
        #expect(await phone.transport.next().request.fields["X-Installation-Id"] == "the-id")
    }

    @Test func `After an unlock the client holds at most 500 reports and emits the dropped ones`() async {
        let storage = TestStorage()
        storage.lock()
        let phone = TestPhone(storage: storage)
        let events = phone.registry.events
        for index in 0..<502 { phone.registry.report(.token("aa", of: "a-\(index)")) }
        storage.unlock()
        await phone.registry.drain()
        #expect(phone.registry.status.waiting == 500)
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == .dropped(.activity("a-0")))
    }

    @Test(arguments: ["{", "", #"{"version": 2}"#])
    func `An unknown file is renamed with an event and never overwritten`(text: String) async {
        let phone = TestPhone(storage: TestStorage(Data(text.utf8)), isStarted: false)
        var events = phone.registry.events.makeAsyncIterator()
        phone.registry.activate()
        #expect(await events.next() == .fileSetAside)
        #expect(phone.storage.renamed == Data(text.utf8))
        phone.registry.report(.token("aa"))
        await phone.answer()
    }
}
