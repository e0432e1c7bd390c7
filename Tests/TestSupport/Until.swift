/// The end of the patience of ``until(_:file:line:_:)``.
struct NeverCameTrue: Error, CustomStringConvertible {
    let description: String
}

/// Waits until a condition holds, with a short pause between two looks.
///
/// - Throws: an error that names the caller's place when it does not hold within the limit, and what the condition throws.
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
