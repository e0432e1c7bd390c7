import PushTokenRegistry

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
        var waiting: [UInt64: @Sendable () -> Void] = [:]
        var last: UInt64 = 0
    }

    private let state = LockedValue(State())
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
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for body in waiting { body() }
    }

    /// Runs a closure at the end, or at once after the end.
    func notify(_ body: @escaping @Sendable () -> Void) -> UInt64? {
        let id: UInt64? = state.withLock { state in
            guard !state.isOver else { return nil }
            state.last += 1
            state.waiting[state.last] = body
            return state.last
        }
        if id == nil { body() }
        return id
    }

    func forget(_ id: UInt64?) { if let id { state.withLock { $0.waiting[id] = nil } } }
}
