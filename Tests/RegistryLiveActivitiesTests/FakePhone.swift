import RegistryClient
import RegistryClientTestSupport
import RegistryLiveActivities

/// A simulated phone, which outlives the app.
final class FakePhone: Phone {
    private struct State: Sendable {
        var areActivitiesEnabled = true
        var isLocked = false
    }

    let switchStreams = TestStreams<Bool>()
    let momentStreams = TestStreams<PhoneMoment>()
    private let state = Guarded(State())

    var areActivitiesEnabled: Bool { state.withLock { $0.areActivitiesEnabled } }
    let areFrequentPushesEnabled: Bool? = true
    func enablements() -> AsyncStream<Bool> { switchStreams.subscribe() }
    func isProtectedDataAvailable() async -> Bool { state.withLock { !$0.isLocked } }
    func moments() -> AsyncStream<PhoneMoment> { momentStreams.subscribe() }

    /// The user moves the switch in Settings.
    func switches(on: Bool) {
        keepsSwitch(on: on)
        switchStreams.send(on)
    }

    /// The switch was moved while no app ran.
    func keepsSwitch(on: Bool) { state.withLock { $0.areActivitiesEnabled = on } }

    func lock() { state.withLock { $0.isLocked = true } }

    func unlock() {
        state.withLock { $0.isLocked = false }
        momentStreams.send(.unlock)
    }

    func comesToForeground() { momentStreams.send(.foreground) }
}
