import Foundation

/// Runs blocking work on its own thread, because Swift's task threads must never block.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}

/// Repeats `question` until it returns a value or the time is over. Blocks the thread.
func poll<Value, Failure: Error>(
    for time: Duration,
    _ question: () throws(Failure) -> Value?
) throws(Failure) -> Value? {
    let deadline = ContinuousClock.now + time
    while true {
        if let answer = try question() { return answer }
        if ContinuousClock.now >= deadline { return nil }
        usleep(5_000)
    }
}
