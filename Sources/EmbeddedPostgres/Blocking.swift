import Foundation

/// Runs blocking work on its own thread, because Swift's task threads must never block.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}

struct Deadline: Sendable {
    private let instant: ContinuousClock.Instant

    static func after(_ duration: Duration) -> Deadline {
        Deadline(instant: .now + duration)
    }

    var hasPassed: Bool { ContinuousClock.now >= instant }

    /// Repeats `question` until it returns a value or the deadline passes. Blocks the thread.
    func poll<Value, Failure: Error>(_ question: () throws(Failure) -> Value?) throws(Failure) -> Value? {
        while true {
            if let answer = try question() { return answer }
            if hasPassed { return nil }
            usleep(5_000)
        }
    }
}
