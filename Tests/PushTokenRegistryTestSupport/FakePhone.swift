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

    package func beginBackgroundTask() async -> (@Sendable () -> Void)? {
        state.withLock { $0.isInBackground } ? newBackgroundTask() : nil
    }

    private func newBackgroundTask() -> @Sendable () -> Void {
        let id = state.withLock { state in
            state.begunTasks += 1
            state.backgroundTasks.insert(state.begunTasks)
            return state.begunTasks
        }
        return { self.state.withLock { _ = $0.backgroundTasks.remove(id) } }
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
        transitionStreams.send(.background(end: newBackgroundTask()))
    }
}
