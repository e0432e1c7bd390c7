import ActivityKit
import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import Testing

/// The layer over ActivityKit, on a module of the same shape. It has not run on a phone.
@Suite(.timeLimit(.minutes(1)), .serialized) struct AdapterTests {
    @Test func `An activity that the app requests is registered, rotated and ended`() async throws {
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

    @Test func `A running activity is found at launch, and its dismissal is reported as the user's`() async throws {
        let app = App<MatchAttributes>()
        let activity = try Activity.request(attributes: MatchAttributes(), content: content(MatchAttributes.self))
        app.system.give(Data([0xaa]), toActivity: activity.id)
        app.registry.follow(MatchAttributes.self) { _ in ["liveactivityId": "match-1"] }
        app.registry.activate()
        #expect(await app.answer()["token"] == "aa")
        app.system.change(activity.id, to: .dismissed)
        #expect(await app.answer()["reason"] == "dismissed")
    }

    @Test func `An immediate end by the app is not reported as a dismissal`() async throws {
        let app = App<OwnAttributes>()
        app.registry.follow(OwnAttributes.self) { _ in [:] }
        app.registry.activate()
        let activity = try Activity.request(attributes: OwnAttributes(), content: content(OwnAttributes.self))
        app.system.give(Data([0xaa]), toActivity: activity.id)
        await app.answer()
        await app.registry.end(OwnAttributes.self, id: activity.id, dismissalPolicy: .immediate)
        #expect(await app.answer()["reason"] == "ended")
    }

    @Test func `A scheduled activity is registered with its start`() async throws {
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

    @Test func `Start tokens from property and stream are reported, and the switch in Settings removes them`() async {
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

    @Test func `The foreground reports the list of activities, and a locked phone does not`() async throws {
        let app = App<ListedAttributes>()
        let activity = try Activity.request(attributes: ListedAttributes(), content: content(ListedAttributes.self))
        app.registry.follow(ListedAttributes.self) { _ in [:] }
        await PlayedUIKit.setProtectedData(available: false)
        app.registry.activate()
        app.clock.advance(by: 10)
        app.system.give(Data([0xaa]), toActivity: activity.id)
        #expect(await app.answer().path == "PUT /activities/\(activity.id)")
        await PlayedUIKit.setProtectedData(available: true)
        PlayedUIKit.enterForeground()
        #expect(await app.answer().path == "PUT /installations/i-1/activities")
    }

    @Test func `In the background the system gets waiting reports after 25 seconds, and the task ends`() async throws {
        let app = App<SleepingAttributes>()
        let activity = try Activity.request(attributes: SleepingAttributes(), content: content(SleepingAttributes.self))
        app.registry.follow(SleepingAttributes.self) { _ in [:] }
        app.registry.activate()
        app.transport.setOffline()
        app.system.give(Data([0xaa]), toActivity: activity.id)
        while app.registry.status.waiting == 0 { await pause() }
        async let hasEnded: Void = PlayedUIKit.enterBackground()
        while app.transport.submitted.isEmpty {
            app.clock.advance(by: 1)
            await pause()
        }
        await hasEnded
        #expect(app.transport.submitted.last?.map(\.url.lastPathComponent).contains(activity.id) == true)
    }

    @Test func `An app woken in the background gives the system its waiting reports after 25 seconds`() async throws {
        let app = App<WokenAttributes>()
        let activity = try Activity.request(attributes: WokenAttributes(), content: content(WokenAttributes.self))
        app.registry.follow(WokenAttributes.self) { _ in [:] }
        await PlayedUIKit.setBackground(true)
        app.registry.activate()
        app.transport.setOffline()
        app.system.give(Data([0xaa]), toActivity: activity.id)
        while app.transport.submitted.isEmpty {
            app.clock.advance(by: 1)
            await pause()
        }
        await PlayedUIKit.setBackground(false)
        #expect(app.transport.submitted.last?.map(\.url.lastPathComponent).contains(activity.id) == true)
    }

    @Test func `A background task ends at its expiration, even if the credential never arrives`() async {
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
        await PlayedUIKit.enterBackground(isExpired: true)
        #expect(app.transport.submitted.isEmpty)
        #expect(await !PlayedUIKit.isKilled())
    }
}

private func content<Attributes: ExampleAttributes>(
    _ type: Attributes.Type
) -> ActivityContent<Attributes.ContentState> { ActivityContent(state: ExampleContent(), staleDate: nil) }

/// An app with the client. Each test has its own attributes type, because all tests share one system.
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

protocol ExampleAttributes: ActivityAttributes where ContentState == ExampleContent {}

struct ExampleContent: Codable, Hashable, Sendable {}

struct RideAttributes: ExampleAttributes { let rideID: String }

struct MatchAttributes: ExampleAttributes {}

struct OwnAttributes: ExampleAttributes {}

struct ScheduledAttributes: ExampleAttributes { let kickOff: Date }

struct StartedAttributes: ExampleAttributes {}

struct ListedAttributes: ExampleAttributes {}

struct SleepingAttributes: ExampleAttributes {}

struct WokenAttributes: ExampleAttributes {}

struct SlowAttributes: ExampleAttributes {}
