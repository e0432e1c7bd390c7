import PushTokenRegistry

/// Clocks that the test moves. The wall clock can differ from the monotonic clock.
package final class TestClock: ClientClock {
    private struct Sleeper {
        let id: UInt64
        let until: Duration
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var seconds = 0.0
        var ahead = 0.0
        var step = 0.0
        var boot = "boot-1"
        /// The start of the device, in seconds since the test began.
        var started = 0.0
        var sleepers: [UInt64: Sleeper] = [:]
        var lastSleeper: UInt64 = 0
        var woken = 0

        /// The device has been on for 1000 seconds when the test begins.
        var uptime: Duration { .seconds(1000 + seconds - started) }
    }

    private let state = LockedValue(State())
    private let beginning: Timestamp

    /// - Parameter beginning: the correct time when the test begins.
    package init(beginning: Timestamp = .at(0)) { self.beginning = beginning }

    package func now() -> DeviceTime {
        state.withLock { [beginning] state in
            defer { state.seconds += state.step }
            let wall = beginning + .milliseconds(Int64((state.seconds + state.ahead) * 1000))
            return DeviceTime(wall: wall, uptime: state.uptime, boot: state.boot)
        }
    }

    /// The correct time, independent of the wall clock.
    package var rightTime: Timestamp { beginning + .milliseconds(Int64(state.withLock { $0.seconds } * 1000)) }
    package func set(ahead: Double) { state.withLock { $0.ahead = ahead } }
    package func set(step: Double) { state.withLock { $0.step = step } }
    package func restart(boot: String) { state.withLock { ($0.boot, $0.started) = (boot, $0.seconds) } }

    /// The next wake-up by the monotonic clock; nil without sleepers.
    package var nextWaking: Duration? { state.withLock { $0.sleepers.values.map(\.until).min() } }
    package var sleepers: Int { state.withLock { $0.sleepers.count } }

    /// Sleepers whose time has come, but whose task has not gone on.
    package var woken: Int { state.withLock { $0.woken } }

    package func advance(by seconds: Double) {
        state.withLock { $0.seconds += seconds }
        wake { [uptime = now().uptime] in $0.until <= uptime }
    }

    /// The process of all sleepers has ended.
    package func wakeAll() { wake { _ in true } }
    package func sleep(until uptime: Duration) async { await sleep(until: uptime) { false } }

    /// Sleeps unless the process has ended. After its end, call ``wakeAll()``.
    package func sleep(until uptime: Duration, unless isOver: @Sendable () -> Bool) async {
        let id = state.withLock { state in
            state.lastSleeper += 1
            return state.lastSleeper
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.sleepers[id] = Sleeper(id: id, until: uptime, continuation: continuation) }
                // Now neither a cancellation nor the end of the time or of the process is missed.
                if Task.isCancelled || isOver() || now().uptime >= uptime { wake { $0.id == id } }
            }
        } onCancel: {
            wake { $0.id == id }
        }
        state.withLock { $0.woken -= 1 }
    }

    private func wake(_ isMeant: @Sendable (Sleeper) -> Bool) {
        let woken = state.withLock { state in
            let woken = state.sleepers.values.filter(isMeant)
            for sleeper in woken { state.sleepers[sleeper.id] = nil }
            state.woken += woken.count
            return woken
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }
}

extension Timestamp {
    /// A time in seconds after the tests' common beginning.
    package static func at(_ seconds: Double) -> Timestamp {
        Timestamp(milliseconds: 1_790_000_000_000 + Int64(seconds * 1000))
    }
}

extension DeviceTime {
    /// A device with a clock that is ahead by some seconds.
    package static func at(_ seconds: Double, ahead: Double = 0, boot: String = "boot-1") -> DeviceTime {
        DeviceTime(wall: .at(seconds + ahead), uptime: .seconds(1000 + seconds), boot: boot)
    }
}

/// Lets other tasks run. A test that waits forever ends at its suite's time limit.
package func pause() async {
    await Task.yield()
    if Task.isCancelled { fatalError("waited in vain") }
}
