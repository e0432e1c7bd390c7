import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C19: what the system is given, so that it sends while the app sleeps.
@Suite(.timeLimit(.minutes(1))) struct HandOverTests {
    @Test("Ends go first, then the newest, and no more than fifty") func mostImportantFirst() {
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
        "What was refused, or is to pause, waits for the app",
        arguments: [.problem(401, "unauthenticated"), .problem(403, "forbidden"), .retryLater(after: .seconds(40))]
            as [ResponseClass]
    )
    func refused(responseClass: ResponseClass) {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1)
        played.answerAll(responseClass)
        played.add(.token("bb", of: "a-2"), at: 2)
        #expect(played.outbox.entries.count == 2)
        #expect(played.outbox.uploadsInBackground.map(\.subject) == [.activity("a-2")])
    }

    @Test("What nobody answered goes, and what is under way") func unanswered() {
        let played = PlayedOutbox()
        played.add(.token("aa"), at: 1)
        played.answerAll(.none)
        played.now = 10
        #expect(played.send() != nil)
        #expect(played.outbox.uploadsInBackground.count == 1)
    }

    @Test("Nothing goes that a waiting log-out must precede, but ends") func afterALogOut() {
        let played = PlayedOutbox()
        played.add(.logOut, at: 1, by: .user("u-7"))
        played.add(.installation(aliases: ["userId": ["u-8"]], metadata: nil), at: 2, by: .user("u-8"))
        played.add(.token("aa"), at: 3, by: .user("u-8"))
        played.add(.end("a-9"), at: 4, by: .user("u-8"))
        #expect(played.outbox.uploadsInBackground.map(\.subject) == [.end(ofActivity: "a-9"), .logOut])
    }

    @Test("The system is given the same bytes, under the credential of each report") func sameBytes() async throws {
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

    @Test("It stays until the registry answers the app, and is not given twice") func staysInTheOutbox() async {
        let phone = TestPhone()
        phone.transport.goesOffline()
        phone.registry.report(.token("aa"))
        await phone.registry.submitBackgroundUploads()
        await phone.registry.submitBackgroundUploads()
        #expect(phone.transport.submitted.map(\.count) == [1])
        phone.transport.goesOffline(false)
        let relaunched = phone.relaunched()
        #expect(await relaunched.answer()["token"] == "aa")
    }

    @Test("In the foreground the app takes back what it gave") func takenBack() async {
        let phone = TestPhone()
        phone.transport.goesOffline()
        phone.registry.report(.token("aa"))
        await phone.registry.submitBackgroundUploads()
        phone.registry.retryNow()
        while phone.transport.submitted.map(\.count) != [1, 0] { await pause() }
        await phone.registry.submitBackgroundUploads()
        #expect(phone.transport.submitted.map(\.count) == [1, 0, 1])
    }

    @Test("What is observed after a hand-over is later, though the clock was set back and the app was dead")
    func laterThanHandedOver() async throws {
        let phone = TestPhone()
        phone.clock.set(ahead: 100)
        // Its own request waits for the answer to the sign-in.
        phone.registry.signIn(userID: "u-7") { "jwt" }
        _ = await phone.transport.next()
        phone.registry.report(.token("aa"))
        await phone.registry.submitBackgroundUploads()
        let given = try #require(phone.transport.submitted.last?.compactMap(\.observedAt).max())
        let state = try #require(phone.storage.bytes.flatMap(StoredState.init))
        #expect(state.clock.floor >= given)
    }

    @Test("Nothing is handed over before the phone was unlocked, or without a report") func nothing() async {
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

extension RecordedRequest {
    fileprivate var observedAt: Timestamp? {
        let json = body.flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }
        return (json?["observedAt"] as? String).flatMap(Timestamp.init(text:))
    }
}
