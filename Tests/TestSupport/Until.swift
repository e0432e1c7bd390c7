import Foundation

/// As in `TestScoping`.
package typealias TestBody = @Sendable () async throws -> Void

private struct NeverCameTrue: Error, CustomStringConvertible { let description: String }

/// Waits until a condition holds, with short pauses between the checks.
///
/// - Throws: an error with the caller's place after the limit, and the errors of the condition.
package func until(
    _ limit: Duration = .seconds(60),
    file: StaticString = #fileID,
    line: Int = #line,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else {
            throw NeverCameTrue(description: "\(file):\(line): it did not come true within \(limit)")
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// Runs the work for all elements at the same time.
///
/// - Returns: the results in the order of completion.
@discardableResult
package func concurrently<Element: Sendable, Value: Sendable>(
    _ elements: some Sequence<Element>,
    _ work: @escaping @Sendable (Element) async throws -> Value
) async throws -> [Value] {
    try await withThrowingTaskGroup(of: Value.self) { group in
        for element in elements { group.addTask { try await work(element) } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}

/// Runs blocking work on its own thread, because the service needs the threads of tasks.
package func onOwnThread<Value: Sendable, Failure>(
    _ work: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    try await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: Result(catching: work)) }
    }.get()
}

/// Runs a body and then a cleanup, also after an error of the body.
package func perform<Value>(
    _ body: () async throws -> Value,
    andThen close: () async throws -> Void
) async throws -> Value {
    let value: Value
    do { value = try await body() } catch {
        try? await close()
        throw error
    }
    try await close()
    return value
}
