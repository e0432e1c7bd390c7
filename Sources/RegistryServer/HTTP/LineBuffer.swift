import Synchronization

/// A bounded buffer between the reader and the processing of lines.
///
/// Slow lines are answered one by one, and fast ones in large batches.
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

    /// In bytes. Above it, the reader waits.
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

    /// Ends the lines, after an error if any.
    func finish(_ failure: (any Error)? = nil) {
        wakeTaker { state in
            state.isOver = true
            state.failure = failure
        }
    }

    /// Rejects further lines and wakes a waiting reader.
    func abandon() {
        let giver = state.withLock { state in
            state.isAbandoned = true
            return state.giver.take()
        }
        giver?.resume()
    }

    /// Waits for lines and removes up to `limit`. Empty at the end.
    ///
    /// - Throws: The reader's error, after all earlier lines.
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
    fileprivate var size: Int {
        switch self {
        case .text(let bytes): bytes.count + 64
        case .tooLong: 64
        }
    }
}
