import Foundation

/// A value that one thread at a time accesses. `Mutex` needs iOS 18.
package final class LockedValue<Value: Sendable>: Sendable {
    private let lock = NSLock()
    private nonisolated(unsafe) var value: Value

    package init(_ value: Value) { self.value = value }

    package func withLock<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
        lock.withLock { body(&value) }
    }
}
