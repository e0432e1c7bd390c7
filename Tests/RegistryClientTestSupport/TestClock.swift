import RegistryClient

/// Clocks that stand still until the test moves them, the wall clock apart from the monotonic one if it likes.
package final class TestClock: ClientClock {
    private struct State {
        var seconds = 0.0
        var ahead = 0.0
        var sleepers: [UInt64: (until: Duration, continuation: CheckedContinuation<Void, Never>)] = [:]
        var lastSleeper: UInt64 = 0
    }

    private let state = Guarded(State())
    private let boot: String

    package init(seconds: Double = 0, boot: String = "boot-1") {
        self.boot = boot
        state.withLock { $0.seconds = seconds }
    }

    package func now() -> DeviceTime {
        state.withLock { [boot] state in .at(state.seconds, ahead: state.ahead, boot: boot) }
    }

    /// Sets the wall clock so many seconds ahead of the right time.
    package func set(ahead: Double) { state.withLock { $0.ahead = ahead } }

    package func advance(by seconds: Double) {
        let due = state.withLock { state in
            state.seconds += seconds
            let uptime = DeviceTime.at(state.seconds).uptime
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
