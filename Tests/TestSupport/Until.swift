struct NeverCameTrue: Error, CustomStringConvertible {
    let description: String
}

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
