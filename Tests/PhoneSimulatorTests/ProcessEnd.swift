import PushTokenRegistry
import PushTokenRegistryTestSupport

/// The end of a process. Code that still runs afterwards has no effect on the phone.
final class ProcessEnd: Sendable {
    enum Moment: Sendable, CaseIterable {
        case beforeWrite
        /// Half of the bytes are written.
        case duringWrite
        case afterWrite
    }

    private struct State: Sendable {
        var isOver = false
        var planned: (moment: Moment, write: Int)?
        /// The number of attempted writes.
        var writes = 0
    }

    private let state = LockedValue(State())
    private let clock: TestClock

    init(clock: TestClock) { self.clock = clock }

    var isOver: Bool { state.withLock { $0.isOver } }
    var writes: Int { state.withLock { $0.writes } }

    func comes(at moment: Moment, write: Int = 1) {
        state.withLock { $0.planned = (moment, $0.writes + write) }
    }

    func isCalledOff() { state.withLock { $0.planned = nil } }

    func beginsToWrite() -> Moment? {
        state.withLock { state in
            state.writes += 1
            return state.planned?.write == state.writes ? state.planned?.moment : nil
        }
    }

    func comes() {
        state.withLock { $0.isOver = true }
        clock.wakeAll()
    }
}
