import Foundation

import RegistryClient

/// A file in memory, that cannot be read while the phone is locked. Two clients may share it.
package final class TestStorage: ReportStorage {
    private struct State {
        var content = StoredContent.none
        var setAside: Data?
        var isLocked = false
    }

    private let state = Guarded(State())
    /// Held from reading to writing, as the file's lock is.
    private let change = NSLock()

    package init(_ bytes: Data? = nil) {
        state.withLock { $0.content = bytes.map(StoredContent.bytes) ?? .none }
    }

    package func lock() { state.withLock { $0.isLocked = true } }
    package func unlock() { state.withLock { $0.isLocked = false } }

    package var bytes: Data? {
        guard case .bytes(let bytes) = state.withLock({ $0.content }) else { return nil }
        return bytes
    }

    package var setAside: Data? { state.withLock { $0.setAside } }
    package var entries: [OutboxEntry] { bytes.flatMap(StoredState.init)?.entries ?? [] }

    package func change(_ decide: (StoredContent) -> StorageChange) -> Bool { change.withLock { changeAlone(decide) } }

    private func changeAlone(_ decide: (StoredContent) -> StorageChange) -> Bool {
        let (content, isLocked) = state.withLock { ($0.content, $0.isLocked) }
        guard !isLocked else {
            return decide(.unreadable) == .keep
        }
        switch decide(content) {
        case .keep: break
        case .replace(let bytes): state.withLock { $0.content = .bytes(bytes) }
        case .setAside(let bytes):
            state.withLock { state in
                if case .bytes(let old) = content { state.setAside = old }
                state.content = .bytes(bytes)
            }
        }
        return true
    }
}
