import PushTokenRegistry

/// Clocks that the test moves. The wall clock can differ from the monotonic clock.
package final class TestClock: ClientClock {
    private struct State {
        var seconds = 0.0
        var ahead = 0.0
        var boot: String
        /// The start of the device, in seconds since the test began.
        var started = 0.0
        var sleepers: [UInt64: (until: Duration, continuation: CheckedContinuation<Void, Never>)] = [:]
        var lastSleeper: UInt64 = 0

        /// The device has been on for 1000 seconds when the test begins.
        var uptime: Duration { .seconds(1000 + seconds - started) }
    }

    private let state: LockedValue<State>
    private let beginning: Timestamp

    /// - Parameter beginning: the correct time when the test begins.
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

    /// The correct time, independent of the wall clock.
    package var rightTime: Timestamp {
        beginning + .milliseconds(Int64(state.withLock { $0.seconds } * 1000))
    }

    package func set(ahead: Double) { state.withLock { $0.ahead = ahead } }

    package func restart(boot: String) {
        state.withLock { ($0.boot, $0.started) = (boot, $0.seconds) }
    }

    /// The next wake-up by the monotonic clock; nil without sleepers.
    package var nextWaking: Duration? { state.withLock { $0.sleepers.values.map(\.until).min() } }
    package var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// The number of sleepers that wake after this time.
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
                // In the meantime the task may have been cancelled, or the time may have come.
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
