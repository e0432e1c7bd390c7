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
        #expect(await phone.transport.next(2).map(\.path) == ["PUT /activities/before", "PUT /activities/meanwhile"])
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

    @Test(arguments: [nil, -34018] as [Int32?])
    func `A locked keychain delays all requests, which later use the stored id`(status: Int32?) async {
        let installationIDs = TestInstallationIDStore("the-id")
        installationIDs.lock(Locked(status))
        let phone = TestPhone(installationIDs: installationIDs)
        phone.registry.report(.token("aa"))
        #expect(await phone.isQuiet())
        #expect(phone.log.withLock { $0.count { $0.hasSuffix("-34018") } } == (status == nil ? 0 : 1))
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

/// C10: the file on disk.
@Suite struct FileStorageTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reports-\(UUID().uuidString)")
    private var file: URL { folder.appendingPathComponent("inner/reports.json") }

    @Test func `The first write creates the file, and a read returns its content`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try FileStorage(file: file).read() == nil)
        #expect(FileStorage(file: file).write(Data("one".utf8)))
        #expect(try FileStorage(file: file).read() == Data("one".utf8))
        try FileManager.default.removeItem(at: folder)
        #expect(FileStorage(file: file).write(Data("two".utf8)), "the app may empty its folder")
    }

    @Test func `An unreadable file does not count as missing`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        #expect(throws: (any Error).self) { try FileStorage(file: file).read() }
        let plain = folder.appendingPathComponent("plain")
        try Data().write(to: plain)
        let below = FileStorage(file: plain.appendingPathComponent("reports.json"))
        #expect(throws: (any Error).self) { try below.read() }
    }

    @Test func `Setting a file aside keeps its content under another name`() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let storage = FileStorage(file: file)
        for text in ["first", "second"] {
            _ = try storage.read()
            #expect(storage.write(Data(text.utf8)))
            storage.setAside()
            #expect(try storage.read() == nil)
            let other = folder.appendingPathComponent("inner/reports.unknown.json")
            #expect(try Data(contentsOf: other) == Data(text.utf8))
        }
    }
}

@Suite struct StoredStateTests {
    private static var state: StoredState {
        let played = PlayedOutbox()
        var registration = ActivityRegistration(activityID: "a-1", token: PushToken([1, 255]))
        (registration.startedAt, registration.startsAt) = (.at(1), .at(2))
        (registration.aliases, registration.frequentPushesEnabled) = (["liveactivityId": ["order-42"]], true)
        let reports: [Report] = [
            .registration(registration), .end("a-2", isDismissal: true), .start(nil), .start("aa", of: "Match"),
            .installationToken(.device, PushToken([3])), .installationToken(.widget, nil),
            .installation(aliases: ["userId": ["u-7"]], metadata: nil), .fullState([registration]),
        ]
        for (index, report) in reports.enumerated() { played.add(report, at: Double(index), by: .user("u-7")) }
        played.add(.logOut, at: 0)
        var state = StoredState()
        (state.outbox, state.user) = (played.outbox, "u-7")
        _ = state.clock.observe(.at(7))
        _ = state.clock.notice(.at(7))
        return state
    }

    @Test func `The state is read as it was written`() {
        #expect(Self.state.outbox.entries.count == 9)
        #expect(StoredState(Self.state.bytes) == Self.state)
    }

    @Test func `The file has a version and keeps the time of the first refusal`() throws {
        #expect(String(decoding: Self.state.bytes, as: UTF8.self).contains(#""version":1"#))
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1)
        played.answerAll(.problem(403, "forbidden"))
        var state = StoredState()
        state.outbox = played.outbox
        let read = try #require(StoredState(state.bytes))
        let relaunched = PlayedOutbox()
        relaunched.outbox = read.outbox
        relaunched.now = 86_400
        relaunched.answerAll(.problem(403, "forbidden"))
        #expect(relaunched.outbox.entries.isEmpty, "the day counts from the first refusal, over launches")
    }

    @Test func `A truncated file is not read as a state`() {
        let bytes = Self.state.bytes
        for length in stride(from: 0, to: bytes.count, by: 97) { #expect(StoredState(bytes.prefix(length)) == nil) }
    }
}

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
