import PushTokenRegistry

/// Clocks that stand still until the test moves them, the wall clock apart from the monotonic one if it likes.
package final class TestClock: ClientClock {
    private struct State {
        var seconds = 0.0
        var ahead = 0.0
        var boot: String
        /// When the device was started, in seconds since the test began.
        var started = 0.0
        var sleepers: [UInt64: (until: Duration, continuation: CheckedContinuation<Void, Never>)] = [:]
        var lastSleeper: UInt64 = 0

        /// As if the device had been on for a while when the test began.
        var uptime: Duration { .seconds(1000 + seconds - started) }
    }

    private let state: LockedValue<State>
    private let beginning: Timestamp

    /// - Parameter beginning: the right time when the test begins.
    package init(seconds: Double = 0, boot: String = "boot-1", beginning: Timestamp = .at(0)) {
        self.beginning = beginning
        state = LockedValue(State(seconds: seconds, boot: boot))
    }

    package func now() -> DeviceTime {
        state.withLock { [beginning] state in
            let wall = beginning + .milliseconds(Int64((state.seconds + state.ahead) * 1000))
            return DeviceTime(wall: wall, uptime: state.uptime, boot: state.boot)
        }
    }

    /// The right time, whatever the wall clock says.
    package var rightTime: Timestamp {
        beginning + .milliseconds(Int64(state.withLock { $0.seconds } * 1000))
    }

    package func set(ahead: Double) { state.withLock { $0.ahead = ahead } }

    /// The device is started anew: its monotonic clock begins again.
    package func restarts(boot: String) {
        state.withLock { ($0.boot, $0.started) = (boot, $0.seconds) }
    }

    /// When the next sleeper wakes, by the monotonic clock; nil when nobody sleeps.
    package var nextWaking: Duration? { state.withLock { $0.sleepers.values.map(\.until).min() } }
    package var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// How many wake when so much time from now is over.
    package func sleepers(for time: Duration) -> Int {
        state.withLock { state in state.sleepers.values.count { $0.until == state.uptime + time } }
    }

    package func advance(by seconds: Double) {
        let due = state.withLock { state in
            state.seconds += seconds
            let uptime = state.uptime
            let due = state.sleepers.filter { $0.value.until <= uptime }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    package func sleep(until uptime: Duration) async {
        let id = state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = Task.isCancelled || now().uptime >= uptime
                if isOver { return continuation.resume() }
                state.withLock { $0.sleepers[id] = (uptime, continuation) }
                // It may have been cancelled, or the time may have come, in between.
                if Task.isCancelled || now().uptime >= uptime { wake(id) }
            }
        } onCancel: {
            wake(id)
        }
    }

    private func wake(_ id: UInt64) {
        state.withLock { $0.sleepers.removeValue(forKey: id)?.continuation }?.resume()
    }
}
