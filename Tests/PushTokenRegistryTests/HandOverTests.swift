import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C19: the requests that the system sends while the app sleeps.
@Suite(.timeLimit(.minutes(1))) struct HandOverTests {
    @Test func `The system gets at most 50 reports, ends first, then the newest`() {
        let played = PlayedOutbox()
        for number in 1...60 { played.add(.token("aa", of: "a-\(number)"), at: Double(number)) }
        played.add(.end("a-99"), at: 0)
        let names = played.outbox.uploadsInBackground.map(\.subject)
        #expect(names.count == 50)
        #expect(names.first == .end(ofActivity: "a-99"))
        #expect(names.dropFirst().first == .activity("a-60"))
        #expect(!names.contains(.activity("a-11")))
    }

    @Test(
        arguments: [.problem(401, "unauthenticated"), .problem(403, "forbidden"), .retryLater(after: .seconds(40))]
            as [ResponseClass]
    )
    func `Refused and pausing reports wait for the app`(responseClass: ResponseClass) {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1)
        played.answerAll(responseClass)
        played.add(.token("bb", of: "a-2"), at: 2)
        #expect(played.outbox.entries.count == 2)
        #expect(played.outbox.uploadsInBackground.map(\.subject) == [.activity("a-2")])
    }

    @Test func `Unanswered reports and reports under way go to the system`() {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1)
        played.answerAll(.none)
        played.now = 10
        #expect(played.send() != nil)
        #expect(played.outbox.uploadsInBackground.count == 1)
    }

    @Test func `Of the reports that follow a waiting log-out, only ends go to the system`() {
        let played = PlayedOutbox()
        played.add(.logOut, at: 1, by: .user("u-7"))
        played.add(.installation(aliases: ["userId": ["u-8"]], metadata: nil), at: 2, by: .user("u-8"))
        played.add(.token("aa"), at: 3, by: .user("u-8"))
        played.add(.end("a-9"), at: 4, by: .user("u-8"))
        #expect(played.outbox.uploadsInBackground.map(\.subject) == [.end(ofActivity: "a-9"), .logOut])
    }

    @Test func `The system gets the same bytes, with the credential of each report`() async throws {
        let phone = TestPhone()
        phone.registry.report(.token("aa"))
        let first = await phone.transport.next()
        phone.registry.signIn(userID: "u-7") { "jwt of u-7" }
        let takeover = await phone.transport.next()
        phone.registry.report(.end("a-2"))
        await phone.registry.submitBackgroundUploads()
        let given = try #require(phone.transport.submitted.last)
        #expect(given.map(\.method) == ["DELETE", "PUT", "PUT"])
        #expect(given[0].fields["Authorization"] == "Bearer jwt of u-7")
        for (request, call) in [(given[1], takeover), (given[2], first)] {
            #expect(request.url == call.request.url)
            #expect(request.fields == call.request.fields)
            #expect(request.body == call.request.body)
        }
        #expect(given[2].fields["Authorization"] == "Bearer prc_key")
    }

    @Test func `A submitted report stays in the outbox, and the system gets it once`() async {
        let phone = TestPhone()
        phone.transport.setOffline()
        phone.registry.report(.token("aa"))
        await phone.registry.submitBackgroundUploads()
        await phone.registry.submitBackgroundUploads()
        #expect(phone.transport.submitted.map(\.count) == [1])
        phone.transport.setOffline(false)
        let relaunched = phone.relaunched()
        #expect(await relaunched.answer()["token"] == "aa")
    }

    @Test func `In the foreground the app cancels its background uploads`() async {
        let phone = TestPhone()
        phone.transport.setOffline()
        phone.registry.report(.token("aa"))
        await phone.registry.submitBackgroundUploads()
        phone.registry.retryNow()
        while phone.transport.submitted.map(\.count) != [1, 0] { await pause() }
        await phone.registry.submitBackgroundUploads()
        #expect(phone.transport.submitted.map(\.count) == [1, 0, 1])
    }

    @Test
    func `Observations after a submission are later, even if the clock goes back before a relaunch`() async throws {
        let phone = TestPhone()
        phone.clock.set(ahead: 100)
        // The token waits for the response to the sign-in.
        phone.registry.signIn(userID: "u-7") { "jwt" }
        _ = await phone.transport.next()
        phone.registry.report(.token("aa"))
        await phone.registry.submitBackgroundUploads()
        let given = try #require(phone.transport.submitted.last?.compactMap(\.observedAt).max())
        let state = try #require(phone.storage.bytes.flatMap(StoredState.init))
        #expect(state.clock.floor >= given)
    }

    @Test func `The system gets no request without reports or before the first unlock`() async {
        let phone = TestPhone()
        await phone.registry.submitBackgroundUploads()
        let locked = TestStorage()
        locked.lock()
        let prewarmed = TestPhone(storage: locked)
        prewarmed.registry.report(.token("aa"))
        await prewarmed.registry.submitBackgroundUploads()
        #expect(phone.transport.submitted.isEmpty)
        #expect(prewarmed.transport.submitted.isEmpty)
    }
}
