import RegistryClientTestSupport
import Testing

@testable import RegistryClient

/// C11: the app and its extension share one file.
@Suite(.timeLimit(.minutes(1))) struct ProcessTests {
    private static func entry(_ id: UInt64, _ report: Report, at seconds: Double) -> OutboxEntry {
        OutboxEntry(id: id, report: report, observedAt: .at(seconds), owner: .installation)
    }

    @Test("Entries of the other process come in, and those that it has settled go") func merging() {
        var outbox = Outbox(entries: [
            Self.entry(1, .token("aa", of: "a-1"), at: 1), Self.entry(2, .token("bb", of: "a-2"), at: 2),
        ])
        let stored = [Self.entry(2, .token("bb", of: "a-2"), at: 2), Self.entry(3, .token("cc", of: "a-3"), at: 3)]
        #expect(outbox.merge(stored, known: [1, 2]).isEmpty)
        #expect(outbox.entries.map(\.id) == [2, 3])
    }

    @Test("Entries that this process has settled do not come back") func settledStaySettled() {
        var outbox = Outbox(entries: [])
        _ = outbox.merge([Self.entry(1, .token("aa"), at: 1)], known: [1])
        #expect(outbox.entries.isEmpty)
    }

    @Test("New entries of both for one key become one, the later", arguments: [(1.0, 2.0), (2.0, 1.0)])
    func oneKeyOfBoth(ours: Double, theirs: Double) {
        var outbox = Outbox(entries: [Self.entry(1, .token("aa"), at: ours)])
        _ = outbox.merge([Self.entry(2, .token("bb"), at: theirs)], known: [])
        #expect(outbox.entries.map(\.report.token) == [ours > theirs ? "aa" : "bb"])
    }

    @Test("An end of one process takes the place of a registration of the other") func endsAcrossProcesses() {
        var outbox = Outbox(entries: [Self.entry(1, .token("aa"), at: 5)])
        _ = outbox.merge([Self.entry(2, .end(), at: 1)], known: [])
        #expect(outbox.entries.map(\.report) == [.end()])
    }

    @Test func `What a process observes after the other one has signed the next user in is the next user's`() {
        let (first, second) = (Owner.user("u-1"), Owner.user("u-2"))
        var outbox = Outbox()
        _ = outbox.add(.token("aa", of: "a-1"), observedAt: .at(1), owner: first, id: 1)
        _ = outbox.add(.token("bb", of: "a-2"), observedAt: .at(2), owner: first, id: 2)
        outbox.changesHands(from: first, to: second, known: [1])
        #expect(outbox.entries.map(\.owner) == [first, second])
    }

    @Test("C14: after the app has signed the next user in, nothing of the extension goes out under the last one's name")
    func signedInByTheOther() async {
        let app = TestPhone()
        let other = TestPhone(storage: app.storage, secrets: app.secrets, clock: app.clock)
        for process in [app, other] {
            process.registry.signIn(userID: "u-1") { "jwt-1" }
            await process.answer()
            while process.registry.status.waiting > 0 { await pause() }
        }
        app.registry.signIn(userID: "u-2") { "jwt-2" }
        for _ in 1...2 { await app.answer() }
        while app.registry.status.waiting > 0 { await pause() }
        other.registry.report(.token("aa"))
        #expect(await other.isQuiet(), "it has no JWT of the next user")
        app.registry.comesToForeground()
        let call = await app.answer()
        #expect(call.path == "PUT /activities/a-1")
        #expect(call.credential == "jwt-2")
    }

    @Test("The extension's reports are sent by the app, and neither loses the other's") func appAndExtension() async {
        let app = TestPhone()
        let extensionProcess = TestPhone(storage: app.storage, secrets: app.secrets, clock: app.clock, isStarted: false)
        extensionProcess.transport.goesOffline()
        extensionProcess.registry.start()
        app.registry.report(.token("aa", of: "of-the-app"))
        let first = await app.transport.next()
        extensionProcess.registry.report(.token("bb", of: "of-the-extension"))
        await extensionProcess.quietly()
        #expect(app.storage.entries.count == 2)
        first.answer(.registered)
        #expect(await app.answer().path == "PUT /activities/of-the-extension")
        await app.quietly()
        #expect(app.storage.entries.isEmpty)
        extensionProcess.registry.comesToForeground()
        await extensionProcess.registry.caughtUp()
        while extensionProcess.registry.status.waiting > 0 { await pause() }
    }
}
