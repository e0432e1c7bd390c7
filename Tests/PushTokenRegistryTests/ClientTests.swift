import Foundation
import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

@Suite(.timeLimit(.minutes(1))) struct ClientTests {
    private let phone = TestPhone()

    @Test func `A request names its app and installation and is repeated with the same bytes`() async throws {
        phone.registry.report(.token("00ff", of: "a/1"))
        let first = await phone.transport.next()
        #expect(first.request.url.absoluteString.hasPrefix("https://push.example.com/v1/apps/com.example.food/"))
        #expect(first.request.url.absoluteString.hasSuffix("/sandbox/activities/a%2F1"))
        #expect(first.request.method == "PUT")
        #expect(first.credential == "prc_key")
        #expect(first.request.fields["X-Installation-Id"] == "i-1")
        let agent = try #require(first.request.fields["User-Agent"])
        #expect(agent.hasPrefix("push-token-registry-client/1.0.0 (iOS ") && agent.hasSuffix("; com.example.food)"))
        #expect(first["token"] == "00ff")
        #expect(first.observedAt == .at(0))
        first.fail()
        await phone.registry.drain()
        phone.clock.advance(by: 10)
        let second = await phone.transport.next()
        #expect(second.request.body == first.request.body)
        #expect(second.request.fields == first.request.fields)
    }

    @Test func `C1: calls return without waiting for file, network or user`() async {
        let phone = TestPhone(isStarted: false)
        phone.storage.lock()
        phone.installationIDs.lock()
        phone.registry.activate()
        phone.registry.signIn(userID: "u-7") { await withCheckedContinuation { _ = $0 } }
        phone.registry.register(deviceToken: Data([1, 2]))
        await phone.registry.drain()
        #expect(phone.registry.status.waiting == 2)
        #expect(!phone.registry.status.isReady)
    }

    @Test func `Activation sends earlier reports, and nothing is sent before it`() async {
        let phone = TestPhone(isStarted: false)
        phone.registry.register(deviceToken: Data([1, 2]))
        #expect(await phone.isQuiet())
        phone.registry.activate()
        #expect(await phone.answer().path == "PUT /installations/i-1/tokens/device")
    }

    @Test func `C12: a captive portal's response settles no report and emits events`() async {
        var events = phone.registry.events.makeAsyncIterator()
        phone.registry.report(.token("aa"))
        await phone.answer(TransportResponse(status: 200, fields: [:], body: Data("<html>".utf8)))
        #expect(await events.next() == .unreachable(since: Timestamp.at(0).date))
        await phone.registry.drain()
        #expect(phone.registry.status.waitingSince == Timestamp.at(0).date)
        #expect(phone.registry.status.unreachableSince != nil)
        #expect(phone.storage.entries.count == 1)
        phone.registry.retryNow()
        await phone.answer()
        #expect(await events.next() == .registered(.activity("a-1")))
    }

    @Test(arguments: [(410, "activity-expired"), (422, "clock-skew")])
    func `C21: a report refused for a slow clock is repeated with the right time`(status: Int, code: String) async {
        phone.clock.set(ahead: -90_000)
        phone.registry.report(.token("aa"))
        phone.registry.report(.token("bb", of: "a-2"))
        let calls = await phone.transport.next(2)
        // By the second response the clock is already correct.
        for call in calls { call.answer(.problem(status, code, serverTime: .at(0))) }
        let again = await phone.transport.next(2)
        #expect(again.map(\.path) == ["PUT /activities/a-1", "PUT /activities/a-2"])
        for call in again {
            #expect(((call.observedAt ?? .distantPast) - .at(0)).magnitude <= .milliseconds(2))
            call.answer(.registered)
        }
        while phone.registry.status.waiting > 0 { await pause() }
    }

    @Test(arguments: [-7200.0, 7200])
    func `C15: a clock that is set during a request is corrected once`(ahead: Double) async {
        func taken(_ time: String) -> TransportResponse {
            .ours(200, #"{"outcome": "registered"}"#, fields: ["Date": "Mon, 21 Sep 2026 \(time) GMT"])
        }
        phone.registry.report(.token("aa"))
        await phone.answer(taken("14:13:20"))
        while phone.registry.status.waiting > 0 { await pause() }
        phone.clock.advance(by: 60)
        phone.registry.report(.token("bb"))
        let call = await phone.transport.next()
        phone.clock.set(ahead: ahead)
        call.answer(taken("14:14:20"))
        while phone.registry.status.waiting > 0 { await pause() }
        phone.clock.advance(by: 60)
        phone.registry.report(.token("cc"))
        #expect(await phone.answer().observedAt == .at(120))
    }

    @Test func `Info.plist's keys create a configuration, and missing keys return nil`() {
        let keys = ["PushTokenRegistryURL": "https://push.example.com", "PushTokenRegistryKey": "prc_key"]
        let configuration = LiveActivityRegistry.Configuration(infoDictionary: keys)
        #expect(configuration?.service.absoluteString == "https://push.example.com")
        #expect(configuration?.key == "prc_key")
        #expect(LiveActivityRegistry.Configuration(infoDictionary: ["PushTokenRegistryKey": "prc_key"]) == nil)
        #expect(LiveActivityRegistry.shared == nil)
    }

    @Test(arguments: [[0.0], [-3600, 0]])
    func `C18: after a reinstall the client logs the former installation out first`(times: [Double]) async {
        let clock = TestClock()
        clock.set(ahead: times[0])
        let phone = TestPhone(storage: TestStorage(nil), clock: clock)
        phone.registry.report(.token("aa"))
        for time in times {
            let call = await phone.answer(.ours(204, fields: ["Date": "Mon, 21 Sep 2026 14:13:20 GMT"]))
            #expect(call.path == "DELETE /installations/i-1")
            #expect(call.credential == "prc_key")
            #expect(call.observedAt == .at(time), "a slow clock's log-out is repeated at the right time")
        }
        #expect(await phone.answer().path == "PUT /activities/a-1")
        await phone.quietly()
        let next = phone.relaunched()
        next.registry.report(.token("bb"))
        #expect(await next.answer().path == "PUT /activities/a-1")
    }

    @Test func `A report that falls due after the client's last look is sent`() async {
        phone.registry.report(.token("aa"))
        let call = await phone.transport.next()
        _ = await phone.isQuiet()
        // The pause of half a second to a second ends between two readings of the clock.
        phone.clock.set(step: 0.5)
        call.fail()
        #expect(await phone.transport.next().path == "PUT /activities/a-1")
    }

    @Test func `A first install sends no log-out, nor does an app whose file cannot be written`() async {
        let full = TestStorage(nil)
        full.fill()
        let first = TestPhone(storage: TestStorage(nil), installationIDs: TestInstallationIDStore())
        for phone in [first, TestPhone(storage: full)] {
            phone.registry.report(.token("aa"))
            #expect(await phone.answer().path == "PUT /activities/a-1")
        }
    }

    @Test func `Flush sends pausing reports and returns once no report waits`() async {
        phone.registry.report(.token("aa"))
        await phone.transport.next().fail()
        await phone.quietly()
        async let isDone = phone.registry.flush()
        await phone.answer()
        #expect(await isDone)
        #expect(await phone.registry.flush(), "nothing waits")
    }

    @Test func `Flush returns false after its timeout, also right after the launch`() async {
        let (phone, gate) = (TestPhone(isStarted: false), DispatchSemaphore(value: 0))
        phone.registry.enqueue { _ in gate.wait() }
        phone.registry.activate()
        phone.registry.report(.token("aa"))
        async let isDone = phone.registry.flush(timeout: .seconds(7))
        // Without reports nothing waited when the client was activated.
        for _ in 0..<200 { await Task.yield() }
        gate.signal()
        let call = await phone.transport.next()
        await phone.until(.seconds(1007))
        phone.clock.advance(by: 7)
        #expect(await !isDone)
        call.fail()
    }

    @Test func `Facts of the phone are reported at the first launch and after a change`() async {
        let storage = TestStorage()
        for (version, isReported) in [("18.0", true), ("18.0", false), ("26.0", true)] {
            let phone = TestPhone(storage: storage) { $0.metadata = ["osVersion": version] }
            phone.registry.report(.token(version == "18.0" ? "aa" : "bb"))
            if isReported {
                let call = await phone.answer(.ours(200, #"{"installation": "ab"}"#))
                #expect(call.path == "PUT /installations/i-1")
                #expect(call.request.body.map { String(decoding: $0, as: UTF8.self) }?.contains(version) == true)
            }
            #expect(await phone.answer().path == "PUT /activities/a-1")
            while phone.registry.status.waiting > 0 { await pause() }
        }
    }

    @Test(arguments: [["XCODE_RUNNING_FOR_PREVIEWS": "1"], ["XCTestConfigurationFilePath": "/tmp/x"]])
    func `Previews and hosted tests send nothing unless the app enables it`(variables: [String: String]) async {
        let phone = TestPhone { ($0.variables, $0.runsInTests) = (variables, false) }
        phone.registry.report(.token("aa"))
        #expect(await phone.isQuiet())
        #expect(phone.registry.status.waiting == 0)
        #expect(await !phone.registry.signOut(), "it does not wait")
        let asked = TestPhone { $0.variables = variables }
        asked.registry.report(.token("aa"))
        #expect(await asked.transport.next().path == "PUT /activities/a-1")
    }

    @Test func `The log contains events with fingerprints and without tokens`() async {
        phone.registry.report(.token("00ff"))
        await phone.answer()
        phone.registry.report(.token("00fe", of: "a-2"))
        await phone.answer(.problem(409, "superseded"))
        await phone.quietly()
        let log = phone.log.withLock { $0 }
        #expect(log.count == 3)
        #expect(log[0].hasPrefix("active: push.example.com, sandbox, follows "))
        #expect(log[1].hasPrefix(#"registered activity("a-1"), token "#))
        #expect(log[2].hasPrefix(#"refused activity("a-2"), token "#))
        #expect(log[2].hasSuffix("superseded. Because."))
        #expect(!log.joined().contains("00f"))
    }

    @Test func `A second type with the name of a followed type is logged`() {
        for _ in 0..<2 { phone.registry.follow(FakeType("Match"), on: phone.system) }
        #expect(phone.log.withLock { $0.count { $0.hasPrefix("Match is followed already") } } == 1)
    }

    @Test func `A widget token that a former launch reported is removed once no widget is left`() async {
        phone.registry.report(.installationToken(.widget, nil))
        phone.registry.report(.installationToken(.widget, PushToken([1, 2])))
        #expect(await phone.answer().path == "PUT /installations/i-1/tokens/widget", "nothing is removed before")
        await phone.quietly()
        let next = phone.relaunched()
        next.registry.report(.installationToken(.widget, nil))
        #expect(await next.answer(.ours(204)).path == "DELETE /installations/i-1/tokens/widget")
        await next.quietly()
        next.registry.report(.installationToken(.widget, nil))
        next.registry.report(.token("aa"))
        #expect(await next.answer().path == "PUT /activities/a-1")
    }
}

@Suite(.timeLimit(.minutes(1))) struct JoinedClientTests {
    @Test func `C3: a start token that changed silently is reported with the next report`() async {
        let app = await TestPhone.settled()
        app.type.setStartToken("s1")
        app.registry.register(deviceToken: Data([1]))
        #expect(
            await app.transport.next(2).map(\.path) == [
                "PUT /installations/i-1/start-tokens/Delivery", "PUT /installations/i-1/tokens/device",
            ]
        )
    }

    @Test(arguments: [true, false])
    func `A log-out ends shown and scheduled activities, unless the app turns that off`(isOn: Bool) async {
        let app = await TestPhone.settled { $0.endsActivitiesOnSignOut = isOn }
        let activities = [FakeActivity("a-1", "o-1", token: "aa"), FakeActivity("a-2", "o-2", phase: .pending)]
        for activity in activities { app.type.begin(activity) }
        await app.answer(.registered)
        while activities[1].phaseStreams.listeners == 0 { await pause() }
        async let isConfirmed = app.registry.signOut()
        let calls = await app.transport.next(3)
        #expect(calls.map(\.path) == ["DELETE /activities/a-1", "DELETE /activities/a-2", "DELETE /installations/i-1"])
        #expect(calls[0]["reason"] == "ended")
        for call in calls { call.answer(.ours(204)) }
        #expect(await isConfirmed)
        while isOn && activities.contains(where: { $0.phase != .dismissed }) { await pause() }
        #expect(activities.map(\.phase) == (isOn ? [.dismissed, .dismissed] : [.active, .pending]))
        app.registry.register(deviceToken: Data([1]))
        #expect(await app.transport.next().path == "PUT /installations/i-1/tokens/device", "no end is sent again")
    }

    @Test func `The next user's sign-in ends the former user's activities on the screen`() async {
        let app = await TestPhone.settled()
        app.registry.signIn(userID: "u-7") { "jwt" }
        await app.answer(.ours(200, #"{"installation": "ab"}"#))
        let activity = FakeActivity("a-1", token: "aa")
        app.type.begin(activity)
        await app.answer(.registered)
        app.registry.signIn(userID: "u-7") { "jwt" }
        await app.answer(.ours(200, #"{"installation": "ab"}"#))
        #expect(activity.phase == .active, "the same user stays")
        app.registry.signIn(userID: "u-8") { "jwt-8" }
        while activity.phase != .dismissed { await pause() }
    }

    @Test func `A change of users before ActivityKit's list is complete ends all former activities`() async {
        let app = TestPhone()
        let (unlisted, hidden) = (FakeActivity("a-1"), FakeActivity("a-2"))
        app.registry.follow(app.type, on: app.system)
        app.type.newStreams.send(unlisted)
        while await app.registry.watch?.followed.isEmpty != false { await pause() }
        for user in ["u-7", "u-8"] { app.registry.signIn(userID: user) { user } }
        while unlisted.phase != .dismissed { await pause() }
        app.type.addToList(hidden)
        app.clock.advance(by: 1)
        while hidden.phase != .dismissed { await pause() }
        var call = await app.answer(.ours(204))
        while call.path != "DELETE /activities/a-2" { call = await app.answer(.ours(204)) }
        #expect(call.credential == "prc_key")
    }

    @Test func `The stream of registration states starts with the current state and ends with the activity`() async {
        let app = await TestPhone.settled()
        let activity = FakeActivity("a-1")
        app.type.begin(activity)
        var states = app.registry.registration(of: "a-1").makeAsyncIterator()
        #expect(await states.next() == .waitingForToken)
        while activity.tokenStreams.listeners == 0 { await pause() }
        activity.deliverToken("aa")
        #expect(await states.next() == .pending)
        await app.answer(.problem(403, "alias-not-allowed"))
        #expect(await states.next() == .refused(.aliasNotAllowed))
        activity.deliverToken("bb")
        #expect(await states.next() == .pending)
        await app.answer(.registered)
        #expect(await states.next() == .registered)
        var late = app.registry.registration(of: "a-1").makeAsyncIterator()
        #expect(await late.next() == .registered)
        activity.change(to: .ended)
        #expect(await states.next() == .ended)
        #expect(await states.next() == nil)
    }
}

extension TestPhone {
    /// An app that follows a type, has reported its first list, and waits for no response.
    fileprivate static func settled(
        _ configure: (inout LiveActivityRegistry.Configuration) -> Void = { _ in }
    ) async -> TestPhone {
        let phone = TestPhone(configure)
        phone.registry.follow(phone.type, on: phone.system)
        phone.clock.advance(by: 10)
        await phone.answer(.ours(200, #"{"results": []}"#))
        while phone.registry.status.waiting > 0 { await pause() }
        return phone
    }
}
