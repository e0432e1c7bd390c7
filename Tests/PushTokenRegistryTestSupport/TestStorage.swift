import Foundation
import PushTokenRegistry

/// A file in memory that is unreadable while the phone is locked.
package final class TestStorage: StateStorage {
    private struct State {
        var content = Stored<Data>.none
        var setAside: Data?
        var isLocked = false
    }

    private let state = LockedValue(State())
    /// - Parameter bytes: by default the file of an earlier launch; nil means no file.
    package init(_ bytes: Data? = StoredState().bytes) {
        state.withLock { $0.content = bytes.map(Stored.value) ?? .none }
    }

    package func lock() { state.withLock { $0.isLocked = true } }
    package func unlock() { state.withLock { $0.isLocked = false } }

    package var bytes: Data? {
        guard case .value(let bytes) = state.withLock({ $0.content }) else { return nil }
        return bytes
    }

    package var renamed: Data? { state.withLock { $0.setAside } }
    package var entries: [OutboxEntry] { bytes.flatMap(StoredState.init)?.outbox.entries ?? [] }

    package func read() -> Stored<Data> { state.withLock { $0.isLocked ? .locked : $0.content } }

    package func write(_ bytes: Data) -> Bool {
        state.withLock { state in
            if !state.isLocked { state.content = .value(bytes) }
            return !state.isLocked
        }
    }

    package func setAside() {
        state.withLock { state in
            if case .value(let bytes) = state.content { state.setAside = bytes }
            state.content = .none
        }
    }
}
