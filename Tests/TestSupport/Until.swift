/// The time limit of ``until(_:file:line:_:)`` passed.
struct NeverCameTrue: Error, CustomStringConvertible {
    let description: String
}

/// Waits until a condition holds, with a short pause between two checks.
///
/// - Throws: an error with the caller's place if it does not hold within the limit, and the condition's error.
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
