import ActivityKit
import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import Testing

/// The layer over ActivityKit, on a module of the same shape. It has not run on a phone.
@Suite(.timeLimit(.minutes(1)), .serialized) struct AdapterTests {
    @Test("An activity that the app requests is registered, rotated and ended") func lifeOfAnActivity() async throws {
        let app = App<RideAttributes>()
        app.registry.follow(RideAttributes.self) { ["liveactivityId": $0.rideID] }
        app.registry.activate()
        let activity = try Activity.request(
            attributes: RideAttributes(rideID: "ride-1"),
            content: content(RideAttributes.self)
        )
        app.system.give(Data([0xaa]), toActivity: activity.id)
        let call = await app.answer()
        #expect(call.path == "PUT /activities/\(activity.id)")
        #expect(call["token"] == "aa")
        #expect(call["attributesType"] == "RideAttributes")
        app.system.give(Data([0xbb]), toActivity: activity.id)
        #expect(await app.answer()["token"] == "bb")
        app.system.change(activity.id, to: .ended)
        let end = await app.answer()
        #expect(end.path == "DELETE /activities/\(activity.id)")
        #expect(end["reason"] == "ended")
    }

    @Test("What runs at launch is found, and its dismissal is the user's") func atLaunch() async throws {
        let app = App<MatchAttributes>()
        let activity = try Activity.request(attributes: MatchAttributes(), content: content(MatchAttributes.self))
        app.system.give(Data([0xaa]), toActivity: activity.id)
        app.registry.follow(MatchAttributes.self) { _ in ["liveactivityId": "match-1"] }
        app.registry.activate()
        #expect(await app.answer()["token"] == "aa")
        app.system.change(activity.id, to: .dismissed)
        #expect(await app.answer()["reason"] == "dismissed")
    }

    @Test("An end at once by the app's own hand is no dismissal") func ownEnd() async throws {
        let app = App<OwnAttributes>()
        app.registry.follow(OwnAttributes.self) { _ in [:] }
        app.registry.activate()
        let activity = try Activity.request(attributes: OwnAttributes(), content: content(OwnAttributes.self))
        app.system.give(Data([0xaa]), toActivity: activity.id)
        await app.answer()
        await app.registry.end(OwnAttributes.self, id: activity.id, dismissalPolicy: .immediate)
        #expect(await app.answer()["reason"] == "ended")
    }

    @Test("A scheduled activity is registered with its start") func scheduled() async throws {
        let app = App<ScheduledAttributes>()
        let start = Timestamp.at(7200)
        app.registry.follow(ScheduledAttributes.self, startsAt: { $0.kickOff }) { _ in ["liveactivityId": "match-1"] }
        app.registry.activate()
        let activity = try Activity.request(
            attributes: ScheduledAttributes(kickOff: start.date),
            content: content(ScheduledAttributes.self),
            style: .standard,
            alertConfiguration: AlertConfiguration(),
            start: start.date
        )
        #expect(activity.activityState == .pending)
        app.system.give(Data([0xaa]), toActivity: activity.id)
        #expect(await app.answer()["startsAt"] == start.text)
    }

    @Test("Start tokens are told by the property and by the stream, and taken back with the switch in Settings")
    func startTokens() async {
        let app = App<StartedAttributes>()
        app.system.give(startToken: Data([1]), isSilent: true)
        app.registry.follow(StartedAttributes.self) { _ in [:] }
        app.registry.activate()
        let path = "/installations/i-1/start-tokens/StartedAttributes"
        #expect(await app.answer()["token"] == "01")
        app.system.give(startToken: Data([2]))
        #expect(await app.answer()["token"] == "02")
        ActivityAuthorizationInfo.switch(on: false)
        #expect(await app.answer().path == "DELETE \(path)")
        ActivityAuthorizationInfo.switch(on: true)
        let call = await app.answer()
        #expect(call.path == "PUT \(path)")
        #expect(call["token"] == "02")
    }

    @Test("The foreground brings a list of all that runs, and a locked phone none") func fullState() async throws {
        let app = App<ListedAttributes>()
        let activity = try Activity.request(attributes: ListedAttributes(), content: content(ListedAttributes.self))
        app.registry.follow(ListedAttributes.self) { _ in [:] }
        await PlayedUIKit.setProtectedData(available: false)
        app.registry.activate()
        app.clock.advance(by: 10)
        app.system.give(Data([0xaa]), toActivity: activity.id)
        #expect(await app.answer().path == "PUT /activities/\(activity.id)")
        await PlayedUIKit.setProtectedData(available: true)
        PlayedUIKit.comesToForeground()
        #expect(await app.answer().path == "PUT /installations/i-1/activities")
    }

    @Test("In the background the system gets what waits after 25 seconds, and the background task ends")
    func background() async throws {
        let app = App<SleepingAttributes>()
        let activity = try Activity.request(attributes: SleepingAttributes(), content: content(SleepingAttributes.self))
        app.registry.follow(SleepingAttributes.self) { _ in [:] }
        app.registry.activate()
        app.transport.goesOffline()
        app.system.give(Data([0xaa]), toActivity: activity.id)
        while app.registry.status.waiting == 0 { await pause() }
        async let hasEnded: Void = PlayedUIKit.goesToBackground()
        while app.transport.submitted.isEmpty {
            app.clock.advance(by: 1)
            await pause()
        }
        await hasEnded
        #expect(app.transport.submitted.last?.map(\.url.lastPathComponent).contains(activity.id) == true)
    }

    @Test("Woken in the background, the app gives the system what waits after 25 seconds") func woken() async throws {
        let app = App<WokenAttributes>()
        let activity = try Activity.request(attributes: WokenAttributes(), content: content(WokenAttributes.self))
        app.registry.follow(WokenAttributes.self) { _ in [:] }
        await PlayedUIKit.setBackground(true)
        app.registry.activate()
        app.transport.goesOffline()
        app.system.give(Data([0xaa]), toActivity: activity.id)
        while app.transport.submitted.isEmpty {
            app.clock.advance(by: 1)
            await pause()
        }
        await PlayedUIKit.setBackground(false)
        #expect(app.transport.submitted.last?.map(\.url.lastPathComponent).contains(activity.id) == true)
    }

    @Test("A background task ends when its time is over, though the credential never comes") func expires() async {
        let app = App<SlowAttributes>()
        let isAsked = LockedValue(false)
        app.registry.follow(SlowAttributes.self) { _ in [:] }
        app.registry.activate()
        app.registry.signIn(userID: "u-7") {
            isAsked.withLock { $0 = true }
            await app.clock.sleep(until: .seconds(1_000_000))
            return nil
        }
        while !isAsked.withLock({ $0 }) { await pause() }
        await PlayedUIKit.goesToBackground(isExpired: true)
        #expect(app.transport.submitted.isEmpty)
    }
}

/// Some content, which nobody shows.
private func content<Attributes: ExampleAttributes>(
    _ type: Attributes.Type
) -> ActivityContent<Attributes.ContentState> { ActivityContent(state: ExampleContent(), staleDate: nil) }

/// An app with the client. Its types of attributes are no other test's, for the system is one.
private struct App<Attributes: ActivityAttributes>: Sendable {
    let transport = TestTransport()
    let clock = TestClock()
    let registry: LiveActivityRegistry

    init() { registry = LiveActivityRegistry(.test(transport: transport, clock: clock)) }

    var system: SystemStandIn { .of(Attributes.self) }

    @discardableResult
    func answer() async -> TestTransport.Call {
        let call = await transport.next()
        call.answer(.ours(200, #"{"outcome": "registered"}"#))
        return call
    }
}
