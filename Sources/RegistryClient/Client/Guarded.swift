#if canImport(Darwin)
    import os
#else
    import Synchronization
#endif

/// A value that one thread at a time sees: `Mutex` needs iOS 18.
package final class Guarded<Value: Sendable>: Sendable {
    #if canImport(Darwin)
        private let lock: OSAllocatedUnfairLock<Value>

        package init(_ value: Value) { lock = OSAllocatedUnfairLock(initialState: value) }

        package func withLock<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
            lock.withLock(body)
        }
    #else
        private let lock: Mutex<Value>

        package init(_ value: Value) { lock = Mutex(value) }

        package func withLock<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
            lock.withLock { body(&$0) }
        }
    #endif
}
