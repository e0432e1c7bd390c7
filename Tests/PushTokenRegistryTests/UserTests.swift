import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C14, C18: reports use their user's credential, and a log-out drops the user's reports.
@Suite(.timeLimit(.minutes(1))) struct UserTests {
    private let phone = TestPhone()

    private static func signedIn(_ phone: TestPhone, as user: String = "u-7") async {
        phone.registry.signIn(userID: user) { "jwt of \(user)" }
        let call = await phone.answer(.ours(200, #"{"installation": "ab"}"#))
        #expect(call.path == "PUT /installations/i-1")
        #expect(call.credential == "jwt of \(user)")
        await phone.quietly()
    }

    /// An app that waits for its user's session with a token to report.
    private static func woken() async -> TestPhone {
        let phone = TestPhone()
        await signedIn(phone)
        let woken = phone.relaunched()
        woken.registry.report(.token("aa"))
        await woken.until(.seconds(1003))
        return woken
    }

    @Test func `A sign-in registers the installation for the user, and later reports use the user's JWT`() async {
        phone.registry.signIn(userID: "u-7") { "jwt of u-7" }
        phone.registry.report(.token("aa"))
        let call = await phone.transport.next()
        let body = call.request.body.map { String(decoding: $0, as: UTF8.self) }
        #expect(body == #"{"aliases":{"userId":["u-7"]},"observedAt":"\#(Timestamp.at(0).text)"}"#)
        call.answer(.ours(200, #"{"installation": "ab"}"#))
        #expect(await phone.answer().credential == "jwt of u-7")
        #expect(phone.registry.status.userID == "u-7")
    }

    @Test func `A sign-out returns true once the registry confirms it`() async {
        await Self.signedIn(phone)
        async let isConfirmed = phone.registry.signOut()
        let call = await phone.answer(.ours(204))
        #expect(call.path == "DELETE /installations/i-1")
        #expect(call.credential == "prc_key", "the session may be gone")
        #expect(await isConfirmed)
        #expect(phone.registry.status.userID == nil)
    }

    @Test func `A sign-out without a response returns false after 5 seconds and continues`() async {
        await Self.signedIn(phone)
        async let isConfirmed = phone.registry.signOut()
        let call = await phone.transport.next()
        await phone.until(.seconds(1005))
        phone.clock.advance(by: 5)
        #expect(await !isConfirmed)
        call.fail()
        await phone.quietly()
        phone.registry.retryNow()
        #expect(await phone.answer(.ours(204)).path == "DELETE /installations/i-1")
    }

    @Test func `A user's reports are sent with that user's JWT only`() async {
        await Self.signedIn(phone)
        phone.transport.setOffline()
        phone.registry.report(.token("aa"))
        await phone.quietly()
        let next = phone.relaunched()
        next.registry.report(.start("bb"))
        await next.quietly()
        #expect(next.registry.status.waiting == 2, "both are the user's, and there is no JWT of theirs yet")
        #expect(next.registry.status.userID == "u-7")
        next.registry.signIn(userID: "u-7") { "new jwt" }
        let call = await next.answer(.ours(200, #"{"installation": "ab"}"#))
        #expect(call.path == "PUT /installations/i-1", "the right to all else comes first")
        for call in await next.transport.next(2) { #expect(call.credential == "new jwt") }
    }

    @Test func `The next sign-in logs the former user out with the key and reports the tokens again`() async {
        await Self.signedIn(phone)
        phone.registry.register(deviceToken: Data([1]))
        await phone.answer()
        phone.registry.report(.start(nil))
        await phone.answer(.ours(204))
        phone.transport.setOffline()
        phone.registry.report(.token("aa"))
        await phone.quietly()
        phone.transport.setOffline(false)
        phone.registry.signIn(userID: "u-8") { "jwt of u-8" }
        var calls: [String: String] = [:]
        while calls.count < 4 {
            let call = await phone.transport.next()
            calls[call.path] = call.credential
            call.answer(call.path.hasPrefix("DELETE") ? .ours(204) : .ours(200, #"{"installation": "ab"}"#))
        }
        #expect(
            calls == [
                "DELETE /activities/a-1": "prc_key", "DELETE /installations/i-1": "prc_key",
                "PUT /installations/i-1": "jwt of u-8", "PUT /installations/i-1/tokens/device": "jwt of u-8",
            ]
        )
        await phone.quietly()
        #expect(phone.storage.entries.isEmpty, "a removed token stays removed")
    }

    @Test func `A log-out is sent even if the last JWT never comes`() async {
        phone.registry.signIn(userID: "u-7") { await withCheckedContinuation { _ = $0 } }
        async let isConfirmed = phone.registry.signOut()
        #expect(await phone.answer(.ours(204)).credential == "prc_key")
        #expect(await isConfirmed)
    }

    @Test func `After 3 seconds without a session, the publishable key reports the installation's records`() async {
        let woken = await Self.woken()
        #expect(await woken.isQuiet(), "the app may still sign the user in")
        woken.clock.advance(by: 3)
        let call = await woken.answer()
        #expect(call.path == "PUT /activities/a-1")
        #expect(call.credential == "prc_key")
        #expect(call.request.fields["X-Installation-Id"] == "i-1")
    }

    @Test func `C19: reports that wait for the session keep an app awake that iOS woke in the background`() async {
        await Self.signedIn(phone)
        let woken = phone.relaunched()
        woken.system.enterBackground()
        woken.registry.follow(woken.type, on: woken.system)
        woken.registry.report(.token("aa"))
        while woken.system.begunTasks < 2 { await pause() }
        woken.clock.advance(by: 3)
        for call in await woken.transport.next(2) { call.answer(.registered) }
        while woken.system.backgroundTasks > 1 { await pause() }
    }

    @Test(arguments: [(401, "unauthenticated"), (403, "alias-not-allowed")])
    func `A record that the publishable key may not report waits for the user and blocks no other`(
        status: Int,
        code: String
    ) async {
        let woken = await Self.woken()
        woken.clock.advance(by: 3)
        await woken.answer(.problem(status, code))
        woken.registry.report(.token("bb", of: "a-2"))
        #expect(await woken.answer().path == "PUT /activities/a-2")
        await woken.quietly()
        woken.registry.signIn(userID: "u-7") { "jwt" }
        await woken.answer(.ours(200, #"{"installation": "ab"}"#))
        let call = await woken.answer()
        #expect(call.path == "PUT /activities/a-1")
        #expect(call.credential == "jwt")
    }

    @Test func `A log-out that waits after its user's next sign-in blocks no other report without a session`() async {
        phone.transport.setOffline()
        for user in ["u-7", "u-8", "u-7"] { phone.registry.signIn(userID: user) { "jwt" } }
        await phone.quietly()
        let woken = phone.relaunched()
        #expect(await woken.answer(.ours(204)).path == "DELETE /installations/i-1", "the log-out of u-8")
        woken.registry.report(.token("aa"))
        await woken.quietly()
        woken.clock.advance(by: 3)
        #expect(await woken.transport.next().path == "PUT /activities/a-1")
    }

    @Test func `An error of the credential source is logged without its text and counts as a missing JWT`() async {
        struct Failure: Error { let text = "secret" }
        phone.registry.signIn(userID: "u-7") { throw Failure() }
        while !phone.log.withLock({ $0.contains { $0.hasPrefix("the credential source failed") } }) { await pause() }
        #expect(!phone.log.withLock { $0.joined().contains("secret") })
        #expect(phone.registry.status.waiting == 1)
    }

    @Test(arguments: [[30.0], [20, 30]])
    func `A source without a JWT, also after 20 seconds, is called again after 30`(pauses: [Double]) async {
        let silent: CredentialSource = { pauses.count == 1 ? nil : await withCheckedContinuation { _ = $0 } }
        let sources = LockedValue<[CredentialSource]>([silent, { "jwt" }])
        phone.registry.signIn(userID: "u-7") { try await sources.withLock { $0.removeFirst() }() }
        for pause in pauses {
            await phone.until(phone.clock.now().uptime + .seconds(pause))
            phone.clock.advance(by: pause)
        }
        #expect(await phone.transport.next().credential == "jwt")
    }
}

extension TestPhone {
    func quietly() async { while await !isQuiet() { await pause() } }
    func until(_ uptime: Duration) async { while clock.nextWaking != uptime { await pause() } }
}
