import Synchronization

/// A bounded buffer of lines read ahead while earlier ones are processed.
///
/// So slow lines are answered at once, one by one, and fast ones in large batches.
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

    /// The reader waits above this number of bytes.
    static let capacity = 256 * 1024
    private let state = Mutex(State())

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

    /// There are no more lines, or the read failed.
    func finish(_ failure: (any Error)? = nil) {
        wakeTaker { state in
            state.isOver = true
            state.failure = failure
        }
    }

    /// No more lines are taken; a waiting reader is released.
    func abandon() {
        let giver = state.withLock { state in
            state.isAbandoned = true
            return state.giver.take()
        }
        giver?.resume()
    }

    /// Waits for lines, and takes up to `limit` of them.
    ///
    /// - Returns: none at the end.
    /// - Throws: the reader's error, after all lines before it are taken.
    func takeLines(_ limit: Int) async throws -> [BodyLine] {
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
    /// In memory, roughly.
    fileprivate var size: Int {
        switch self {
        case .text(let bytes): bytes.count + 64
        case .tooLong: 64
        }
    }
}
