import RegistryClient
import RegistryLiveActivities

/// A simulated phone, which outlives the app.
package final class FakePhone: Phone {
    private struct State: Sendable {
        var areActivitiesEnabled = true
        var isLocked = false
        var isInBackground = false
        var handOvers = 0
    }

    package let switchStreams = TestStreams<Bool>()
    package let momentStreams = TestStreams<PhoneMoment>()
    private let state = Guarded(State())

    package init() {}

    package var areActivitiesEnabled: Bool { state.withLock { $0.areActivitiesEnabled } }
    package let areFrequentPushesEnabled: Bool? = true
    package func enablements() -> AsyncStream<Bool> { switchStreams.subscribe() }
    package func isProtectedDataAvailable() async -> Bool { state.withLock { !$0.isLocked } }
    package func moments() -> AsyncStream<PhoneMoment> { momentStreams.subscribe() }
    package func isInBackground() async -> Bool { state.withLock { $0.isInBackground } }
    package func stayAwake(_ body: @Sendable () async -> Void) async {
        await body()
        state.withLock { $0.handOvers += 1 }
    }

    /// How often an app has handed over what waits.
    package var handOvers: Int { state.withLock { $0.handOvers } }

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
        momentStreams.send(.unlock)
    }

    package func appDies() {
        switchStreams.end()
        momentStreams.end()
    }

    package func comesToForeground() {
        state.withLock { $0.isInBackground = false }
        momentStreams.send(.foreground)
    }

    package func goesToBackground() {
        state.withLock { $0.isInBackground = true }
        momentStreams.send(.background)
    }
}
