import Foundation
import PushTokenRegistry

/// A simulated phone, which outlives the app.
package final class FakePhone: ActivitySystem {
    private struct State: Sendable {
        var areActivitiesEnabled = true
        var isLocked = false
        var isInBackground = false
        var backgroundTasks = 0
        var endedTasks = 0
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
    package func isInBackground() async -> Bool { state.withLock { $0.isInBackground } }
    package func widgetToken() async -> Data? { state.withLock { $0.widgetToken } }

    package func beginBackgroundTask() async -> BackgroundTask { newBackgroundTask() }

    private func newBackgroundTask() -> BackgroundTask {
        state.withLock { $0.backgroundTasks += 1 }
        return BackgroundTask { self.state.withLock { $0.endedTasks += 1 } }
    }

    /// The number of background tasks that run.
    package var backgroundTasks: Int { state.withLock { $0.backgroundTasks - $0.endedTasks } }
    /// The number of background tasks that have ended.
    package var endedTasks: Int { state.withLock { $0.endedTasks } }

    package func gets(widgetToken: Data?) { state.withLock { $0.widgetToken = widgetToken } }

    /// The user moves the switch in Settings.
    package func switches(on: Bool) {
        keepsSwitch(on: on)
        switchStreams.send(on)
    }

    /// The switch was moved while no app ran.
    package func keepsSwitch(on: Bool) { state.withLock { $0.areActivitiesEnabled = on } }
    package func lock() { state.withLock { $0.isLocked = true } }

    package func unlock() {
        state.withLock { $0.isLocked = false }
        transitionStreams.send(.unlock)
    }

    package func appDies() {
        switchStreams.end()
        transitionStreams.end()
    }

    package func comesToForeground() {
        state.withLock { $0.isInBackground = false }
        transitionStreams.send(.foreground)
    }

    /// The user sees the app, or something over it.
    package func becomes(active: Bool) { transitionStreams.send(active ? .active : .inactive) }

    package func goesToBackground() {
        state.withLock { $0.isInBackground = true }
        transitionStreams.send(.background(newBackgroundTask()))
    }
}
