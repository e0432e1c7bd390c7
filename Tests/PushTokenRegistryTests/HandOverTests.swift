import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C19: the requests that the system sends while the app sleeps.
@Suite(.timeLimit(.minutes(1))) struct HandOverTests {
    private let phone = TestPhone()
    private let played = PlayedOutbox()

    @Test func `The system gets at most 50 reports, ends first, then the newest`() {
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
        played.add(.token("aa"), at: 1)
        played.answerAll(responseClass)
        played.add(.token("bb", of: "a-2"), at: 2)
        #expect(played.outbox.entries.count == 2)
        #expect(played.outbox.uploadsInBackground.map(\.subject) == [.activity("a-2")])
    }

    @Test func `Unanswered reports and reports under way go to the system`() {
        played.add(.token("aa"), at: 1)
        played.answerAll(.none)
        played.now = 10
        #expect(played.send() != nil)
        #expect(played.outbox.uploadsInBackground.count == 1)
    }

    @Test func `Of the reports that follow a waiting log-out, only ends go to the system`() {
        played.add(.logOut, at: 1, by: .user("u-7"))
        played.add(.installation(aliases: ["userId": ["u-8"]], metadata: nil), at: 2, by: .user("u-8"))
        played.add(.token("aa"), at: 3, by: .user("u-8"))
        played.add(.end("a-9"), at: 4, by: .user("u-8"))
        #expect(played.outbox.uploadsInBackground.map(\.subject) == [.end(ofActivity: "a-9"), .logOut])
    }

    @Test func `The system gets the same bytes, with the credential of each report`() async throws {
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
        phone.transport.setOffline()
        phone.registry.report(.token("aa"))
        await phone.registry.submitBackgroundUploads()
        await phone.registry.submitBackgroundUploads()
        #expect(phone.transport.submitted.map(\.count) == [1])
        phone.transport.setOffline(false)
        #expect(await phone.relaunched().answer()["token"] == "aa")
    }

    @Test func `A submission requests a user's JWT once, and one without a JWT is repeated`() async {
        let credentials = LockedValue<[String?]>([nil, nil, "jwt"])
        phone.registry.signIn(userID: "u-7") { credentials.withLock { $0.removeFirst() } }
        await phone.quietly()
        phone.registry.report(.token("aa"))
        for _ in 0..<2 { await phone.registry.submitBackgroundUploads() }
        #expect(phone.transport.submitted.map(\.count) == [0, 2])
    }

    @Test func `In the foreground the app cancels its background uploads`() async {
        phone.transport.setOffline()
        phone.registry.report(.token("aa"))
        await phone.registry.submitBackgroundUploads()
        phone.registry.retryNow()
        while phone.transport.submitted.map(\.count) != [1, 0] { await pause() }
        await phone.registry.submitBackgroundUploads()
        #expect(phone.transport.submitted.map(\.count) == [1, 0, 1])
    }

    @Test func `A submission waits three seconds for a JWT, and gives the system the other reports`() async {
        let registry = phone.registry
        registry.report(.token("aa"))
        registry.signIn(userID: "u-7") { await withCheckedContinuation { _ = $0 } }
        async let isSubmitted: Void = registry.submitBackgroundUploads()
        await phone.until(.seconds(1003))
        phone.clock.advance(by: 3)
        await isSubmitted
        #expect(phone.transport.submitted.map(\.count) == [1])
    }

    @Test func `A submission gives the system nothing if the app enters the foreground meanwhile`() async {
        let (registry, isOpen) = (phone.registry, LockedValue(false))
        registry.signIn(userID: "u-7") {
            while !isOpen.withLock({ $0 }) { await pause() }
            return "jwt"
        }
        async let isSubmitted: Void = registry.submitBackgroundUploads()
        while await phone.registry.submitted.isEmpty { await pause() }
        phone.registry.retryNow()
        while phone.transport.submitted.isEmpty { await pause() }
        isOpen.withLock { $0 = true }
        await isSubmitted
        #expect(phone.transport.submitted.map(\.count) == [0])
    }

    @Test
    func `Observations after a submission are later, even if the clock goes back before a relaunch`() async throws {
        phone.clock.set(ahead: 100)
        // The token waits for the response to the sign-in.
        phone.registry.signIn(userID: "u-7") { "jwt" }
        _ = await phone.transport.next()
        phone.registry.report(.token("aa"))
        await phone.registry.submitBackgroundUploads()
        let given = try #require(phone.transport.submitted.last?.compactMap(\.observedAt).max())
        #expect(try #require(phone.storage.bytes.flatMap(StoredState.init)).clock.floor >= given)
    }

    @Test func `The system gets no request without reports or before the first unlock`() async {
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

/// C19: the background task, and the reports that the system sends.
@Suite(.timeLimit(.minutes(1))) struct BackgroundTests {
    private let watched: WatchedPhone

    init() async { watched = await WatchedPhone.settled() }

    private func released() async {
        while watched.phone.backgroundTasks > 0 { await pause() }
        #expect(watched.sink.uploads.withLock { $0 } >= 1)
    }

    /// Leaves the task enough time to end.
    private func expectHeld() async {
        for _ in 0..<200 { await Task.yield() }
        #expect(watched.phone.backgroundTasks > 0)
    }

    @Test func `The background task ends at once if no token or report is pending`() async {
        watched.phone.enterBackground()
        await released()
    }

    @Test func `The background task lasts until a new activity has its first token`() async {
        let activity = FakeActivity("a-1")
        watched.type.begin(activity)
        while await watched.watch.followed.isEmpty { await pause() }
        watched.phone.enterBackground()
        await expectHeld()
        activity.deliverToken("aa")
        #expect(await watched.next().report.registered == "a-1 aa")
        await released()
    }

    @Test func `The background task lasts until the outbox is idle`() async {
        watched.sink.isIdle.withLock { $0 = false }
        watched.phone.enterBackground()
        await expectHeld()
        watched.sink.isIdle.withLock { $0 = true }
        watched.watch.checkWake()
        await released()
    }

    @Test(arguments: [(3600.0, 25.0), (12, 7)])
    func `The background task ends after 25 seconds, or 5 seconds before iOS ends it`(left: Double, end: Double) async {
        watched.phone.setBackgroundTime(.seconds(left))
        watched.type.begin(FakeActivity("a-1"))
        watched.phone.enterBackground()
        while watched.clock.nextWaking != watched.clock.now().uptime + .seconds(end) { await pause() }
        watched.clock.advance(by: end - 1)
        await expectHeld()
        watched.clock.advance(by: 1)
        await released()
    }

    @Test func `After a start push, one background task lasts until all activities have tokens`() async {
        watched.phone.enterBackground()
        await released()
        let activities = [FakeActivity("a-1", "order-1"), FakeActivity("a-2", "order-2")]
        for activity in activities { watched.type.begin(activity) }
        while watched.phone.backgroundTasks == 0 { await pause() }
        await expectHeld()
        activities[0].deliverToken("aa")
        #expect(await watched.next().report.registered == "a-1 aa")
        await expectHeld()
        activities[1].deliverToken("bb")
        await released()
    }

    @Test func `Activities without a token by design do not extend the background task`() async {
        let match = FakeType("Match", pushType: .channel)
        watched.watch.follow(match)
        match.begin(FakeActivity("m-1"))
        watched.phone.enterBackground()
        await released()
    }

    @Test func `In the foreground the background task ends, and the system gets nothing`() async {
        watched.sink.isIdle.withLock { $0 = false }
        watched.phone.enterBackground()
        await watched.settleTransitions()
        watched.clock.advance(by: 30)
        for _ in 0..<200 { await Task.yield() }
        #expect(watched.phone.backgroundTasks == 0)
        #expect(watched.sink.uploads.withLock { $0 } == 0)
    }

    @Test func `In the foreground no background task begins`() async {
        watched.type.begin(FakeActivity("a-1"))
        watched.watch.reportsGoOut()
        watched.phone.enterForeground()
        while !(await watched.next().report.isFullState) {}
        #expect(watched.phone.begunTasks == 0)
    }
}
