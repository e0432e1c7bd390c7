import Synchronization

/// Lines that were read ahead while the ones before them are worked on: a few, however many there are.
///
/// So what a sender writes slowly is answered at once, line by line, and what comes fast is taken in large batches.
final class LineBuffer: Sendable {
    private struct State {
        var lines: [BodyLine] = []
        var bytes = 0
        var isOver = false
        var isAbandoned = false
        var failure: (any Error)?
        var giver: CheckedContinuation<Void, Never>?
        var taker: CheckedContinuation<Void, Never>?

        var isFull: Bool { bytes >= LineBuffer.capacity && !isAbandoned }
        var isReady: Bool { !lines.isEmpty || isOver }
    }

    /// From how many bytes on the reader waits.
    static let capacity = 256 * 1024
    private let state = Mutex(State())

    /// Adds lines, and waits until there is room for more.
    func put(_ lines: [BodyLine]) async {
        wakeTaker { state in
            state.lines += lines
            state.bytes += lines.reduce(0) { $0 + $1.size }
        }
        await withCheckedContinuation { continuation in
            let isFull = state.withLock { state in
                if state.isFull { state.giver = continuation }
                return state.isFull
            }
            if !isFull { continuation.resume() }
        }
    }

    /// There are no more lines, or no more can be read.
    func finish(_ failure: (any Error)? = nil) {
        wakeTaker { state in
            state.isOver = true
            state.failure = failure
        }
    }

    /// Nobody takes any more; who waits to put is let go.
    func abandon() {
        let giver = state.withLock { state in
            state.isAbandoned = true
            return state.giver.take()
        }
        giver?.resume()
    }

    /// Waits until there are lines, and takes up to so many of them.
    ///
    /// - Returns: none at the end.
    /// - Throws: what the reader failed with, once all lines before it are taken.
    func take(_ limit: Int) async throws -> [BodyLine] {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if !state.isReady { state.taker = continuation }
                return state.isReady
            }
            if isReady { continuation.resume() }
        }
        let (lines, giver) = try state.withLock { state in
            if state.lines.isEmpty, let failure = state.failure { throw failure }
            let lines = Array(state.lines.prefix(limit))
            state.lines.removeFirst(lines.count)
            state.bytes -= lines.reduce(0) { $0 + $1.size }
            return (lines, state.isFull ? nil : state.giver.take())
        }
        giver?.resume()
        return lines
    }

    private func wakeTaker(_ change: (inout State) -> Void) {
        let taker = state.withLock { state in
            change(&state)
            return state.taker.take()
        }
        taker?.resume()
    }
}

extension BodyLine {
    /// Its size in memory, roughly.
    fileprivate var size: Int {
        switch self {
        case .text(let bytes): bytes.count + 64
        case .tooLong: 64
        }
    }
}
