import Foundation
import PushTokenRegistry

/// A simulated phone, which outlives the app.
package final class FakePhone: ActivitySystem {
    private struct State: Sendable {
        var areActivitiesEnabled = true
        var isLocked = false
        var isInBackground = false
        var backgroundTasks: Set<Int> = []
        var begunTasks = 0
        var backgroundTime = Duration.seconds(30)
        var widgetToken: Data?
    }

    package let switchStreams = TestStreams<Bool>()
    package let transitionStreams = TestStreams<AppTransition>()
    private let state = LockedValue(State())

    package init() {}

    package var areActivitiesEnabled: Bool { state.withLock { $0.areActivitiesEnabled } }
    package let areFrequentPushesEnabled: Bool? = true
    package func enablements() -> AsyncStream<Bool> { switchStreams.subscribe() }
    package func isProtectedDataAvailable() async -> Bool { state.withLock { !$0.isLocked } }
    package func transitions() -> AsyncStream<AppTransition> { transitionStreams.subscribe() }
    package func widgetToken() async -> Data? { state.withLock { $0.widgetToken } }

    package func beginBackgroundTask() async -> BackgroundTime? {
        state.withLock { $0.isInBackground } ? newBackgroundTask() : nil
    }

    package func setBackgroundTime(_ time: Duration) { state.withLock { $0.backgroundTime = time } }

    private func newBackgroundTask() -> BackgroundTime {
        let (id, left) = state.withLock { state in
            state.begunTasks += 1
            state.backgroundTasks.insert(state.begunTasks)
            return (state.begunTasks, state.backgroundTime)
        }
        return ({ self.state.withLock { _ = $0.backgroundTasks.remove(id) } }, left)
    }

    package var backgroundTasks: Int { state.withLock { $0.backgroundTasks.count } }
    package var begunTasks: Int { state.withLock { $0.begunTasks } }
    package var unhandled: Int { switchStreams.unhandled + transitionStreams.unhandled }
    package func setWidgetToken(_ widgetToken: Data?) { state.withLock { $0.widgetToken = widgetToken } }

    package func setSwitch(on: Bool) {
        setSwitchSilently(on: on)
        switchStreams.send(on)
    }

    /// Moves the switch without an element in the stream.
    package func setSwitchSilently(on: Bool) { state.withLock { $0.areActivitiesEnabled = on } }
    package func lock() { state.withLock { $0.isLocked = true } }

    package func unlock() {
        state.withLock { $0.isLocked = false }
        transitionStreams.send(.unlock)
    }

    package func appDies() {
        state.withLock { $0.backgroundTasks = [] }
        switchStreams.end()
        transitionStreams.end()
    }

    package func enterForeground() {
        state.withLock { $0.isInBackground = false }
        transitionStreams.send(.foreground)
    }

    /// The user sees the app, or something covers it.
    package func setActive(_ active: Bool) { transitionStreams.send(active ? .active : .inactive) }

    package func enterBackground() {
        state.withLock { $0.isInBackground = true }
        transitionStreams.send(.background(newBackgroundTask()))
    }
}

/// A simulated attributes type, which outlives the app.
package final class FakeType: ActivityTypeAdapter {
    private struct State: Sendable {
        var listed: [FakeActivity] = []
        var startToken: Data?
        var isHidden = false
        var whileListing: (@Sendable () -> Void)?
    }

    package let name: String
    package let endsDuplicates: Bool
    package let pushType: FollowedPushType
    package let newStreams = TestStreams<any SystemActivity>()
    package let startTokenStreams = TestStreams<Data>()
    private let state = LockedValue(State())

    package init(_ name: String = "Delivery", endsDuplicates: Bool = true, pushType: FollowedPushType = .token) {
        (self.name, self.endsDuplicates, self.pushType) = (name, endsDuplicates, pushType)
    }

    /// All activities, including hidden ones.
    package var all: [FakeActivity] { state.withLock { $0.listed } }
    package func newActivities() -> AsyncStream<any SystemActivity> { newStreams.subscribe() }
    package func startToken() -> Data? { state.withLock { $0.startToken } }
    package func startTokens() -> AsyncStream<Data> { startTokenStreams.subscribe() }

    package var unhandled: Int {
        let activities = all.map { $0.tokenStreams.unhandled + $0.phaseStreams.unhandled }
        return activities.reduce(newStreams.unhandled + startTokenStreams.unhandled, +)
    }

    /// Hides the list, because ActivityKit's list is empty for a moment after a launch.
    package func setHidden(_ isHidden: Bool) { state.withLock { $0.isHidden = isHidden } }

    package func activities() -> [any SystemActivity] {
        let (listed, whileListing) = state.withLock { ($0.isHidden ? [] : $0.listed, $0.whileListing) }
        whileListing?()
        return listed
    }

    package func whileListing(_ body: (@Sendable () -> Void)?) { state.withLock { $0.whileListing = body } }

    /// Begins an activity in the list and the stream.
    package func begin(_ activity: FakeActivity) {
        addToList(activity)
        newStreams.send(activity)
    }

    package func addToList(_ activities: FakeActivity...) { state.withLock { $0.listed += activities } }
    package func removeFromList(_ id: String) { state.withLock { $0.listed.removeAll { $0.id == id } } }

    /// Sets the start token of the property only.
    package func setStartToken(_ startToken: String) { state.withLock { $0.startToken = Data(startToken.utf8) } }

    /// Delivers a start token by the stream only.
    package func streamStartToken(_ startToken: String) { startTokenStreams.send(Data(startToken.utf8)) }

    package func appDies() {
        newStreams.end()
        startTokenStreams.end()
        for activity in state.withLock({ $0.listed }) {
            activity.tokenStreams.end()
            activity.phaseStreams.end()
        }
    }
}

/// A simulated activity. As in ActivityKit, a property can differ from the last value of its stream.
package final class FakeActivity: SystemActivity {
    private struct State: Sendable {
        var phase: ActivityPhase
        var token: Data?
    }

    package let id: String
    package let aliases: [String: String]
    package let startsAt: Date?
    package let tokenStreams = TestStreams<Data>()
    package let phaseStreams = TestStreams<ActivityPhase>()
    private let state: LockedValue<State>

    package init(
        _ id: String,
        _ order: String? = nil,
        phase: ActivityPhase = .active,
        token: String? = nil,
        startsAt: Date? = nil
    ) {
        (self.id, self.startsAt) = (id, startsAt)
        aliases = ["liveactivityId": order ?? "order-of-\(id)"]
        state = LockedValue(State(phase: phase, token: token.map { Data($0.utf8) }))
    }

    package var phase: ActivityPhase { state.withLock { $0.phase } }
    package var token: Data? { state.withLock { $0.token } }
    package func tokens() -> AsyncStream<Data> { tokenStreams.subscribe() }
    package func phases() -> AsyncStream<ActivityPhase> { phaseStreams.subscribe() }

    /// Ends like an immediate end by the app: the activity leaves the screen.
    package func end() async { change(to: .dismissed) }

    package func deliverToken(_ token: String) {
        setToken(token)
        streamToken(token)
    }

    /// Delivers a token by the stream only.
    package func streamToken(_ token: String) { tokenStreams.send(Data(token.utf8)) }

    /// Sets the token of the property only.
    package func setToken(_ token: String) { state.withLock { $0.token = Data(token.utf8) } }

    package func change(to phase: ActivityPhase) {
        setPhase(phase)
        phaseStreams.send(phase)
    }

    /// Sets the phase of the property only.
    package func setPhase(_ phase: ActivityPhase) { state.withLock { $0.phase = phase } }
}

package final class TestStreams<Element: Sendable>: Sendable {
    private struct Listener: Sendable {
        let continuation: AsyncStream<Element>.Continuation
        /// Begins with one, because a listener that has not asked for an element has not begun to listen.
        var unhandled = 1
    }

    private struct State: Sendable {
        var listeners: [Int: Listener] = [:]
        var count = 0
    }

    private let state = LockedValue(State())

    package init() {}

    package var listeners: Int { state.withLock { $0.listeners.count } }

    /// The elements whose listener has not asked for the next one.
    package var unhandled: Int { state.withLock { $0.listeners.values.reduce(0) { $0 + $1.unhandled } } }

    package func subscribe() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
        let id = state.withLock { state in
            state.count += 1
            state.listeners[state.count] = Listener(continuation: continuation)
            return state.count
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[id] = nil } }
        return AsyncStream { [weak self] in
            self?.state.withLock { $0.listeners[id]?.unhandled -= 1 }
            return await stream.first { _ in true }
        }
    }

    package func send(_ element: Element) {
        let listeners = state.withLock { state in
            for id in state.listeners.keys { state.listeners[id]?.unhandled += 1 }
            return state.listeners.values.map(\.continuation)
        }
        for listener in listeners { listener.yield(element) }
    }

    /// Ends all streams, like the death of the listening process.
    package func end() {
        for listener in state.withLock({ $0.listeners.values.map(\.continuation) }) { listener.finish() }
    }
}
