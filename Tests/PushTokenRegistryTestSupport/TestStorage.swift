import Foundation
import PushTokenRegistry

/// A file in memory that is unreadable while the phone is locked.
package final class TestStorage: StateStorage {
    private struct State {
        var content: Data?
        var setAside: Data?
        var isLocked = false
    }

    private let state = LockedValue(State())

    /// - Parameter bytes: by default the file of an earlier launch; nil means no file.
    package init(_ bytes: Data? = StoredState().bytes) { state.withLock { $0.content = bytes } }

    package func lock() { state.withLock { $0.isLocked = true } }
    package func unlock() { state.withLock { $0.isLocked = false } }

    package var bytes: Data? { state.withLock { $0.content } }
    package var renamed: Data? { state.withLock { $0.setAside } }
    package var entries: [OutboxEntry] { bytes.flatMap(StoredState.init)?.outbox.entries ?? [] }

    package func read() throws -> Data? {
        if state.withLock({ $0.isLocked }) { throw Locked() }
        return bytes
    }

    package func write(_ bytes: Data) -> Bool {
        state.withLock { state in
            if !state.isLocked { state.content = bytes }
            return !state.isLocked
        }
    }

    package func setAside() { state.withLock { ($0.setAside, $0.content) = ($0.content, nil) } }
}
