import Foundation
import PushTokenRegistry

extension LiveActivityRegistry.Configuration {
    package static func test(
        storage: TestStorage = TestStorage(),
        installationIDs: TestInstallationIDStore = TestInstallationIDStore("i-1"),
        transport: TestTransport = TestTransport(),
        clock: TestClock = TestClock()
    ) -> Self {
        var configuration = Self(service: URL(string: "https://push.example.com")!, key: "prc_key")
        configuration.bundleID = "com.example.food"
        configuration.environment = .sandbox
        (configuration.storage, configuration.installationIDs) = (storage, installationIDs)
        (configuration.transport, configuration.clock) = (transport.transport, clock)
        (configuration.runsInTests, configuration.metadata) = (true, [:])
        return configuration
    }
}

/// A file in memory that is unreadable while the phone is locked.
package final class TestStorage: StateStorage {
    private struct State {
        var content: Data?
        var setAside: Data?
        var isLocked = false
        var isFull = false
    }

    private let state = LockedValue(State())

    /// - Parameter bytes: by default the file of an earlier launch; nil means no file.
    package init(_ bytes: Data? = StoredState().bytes) { state.withLock { $0.content = bytes } }

    package func lock() { state.withLock { $0.isLocked = true } }
    package func unlock() { state.withLock { $0.isLocked = false } }
    package func fill() { state.withLock { $0.isFull = true } }
    package var bytes: Data? { state.withLock { $0.content } }
    package var renamed: Data? { state.withLock { $0.setAside } }
    package var entries: [OutboxEntry] { bytes.flatMap(StoredState.init)?.outbox.entries ?? [] }

    package func read() throws -> Data? {
        if state.withLock({ $0.isLocked }) { throw Locked() }
        return bytes
    }

    package func write(_ bytes: Data) -> Bool {
        state.withLock { state in
            if state.isLocked || state.isFull { return false }
            state.content = bytes
            return true
        }
    }

    package func setAside() { state.withLock { ($0.setAside, $0.content) = ($0.content, nil) } }
}

/// An in-memory keychain that tests can lock. Like the real store, it never replaces a stored secret.
package final class TestInstallationIDStore: InstallationIDStore {
    private struct State {
        var secret: String?
        var failure: Locked?
        var kept = 0
    }

    private let state: LockedValue<State>
    private let canKeep: Bool
    private let rival: String?

    /// - Parameter rival: the secret of a slightly faster process.
    package init(_ secret: String? = nil, canKeep: Bool = true, rival: String? = nil) {
        state = LockedValue(State(secret: secret))
        (self.canKeep, self.rival) = (canKeep, rival)
    }

    package var kept: Int { state.withLock { $0.kept } }
    package func lock(_ failure: Locked = Locked()) { state.withLock { $0.failure = failure } }
    package func unlock() { state.withLock { $0.failure = nil } }

    package func read() throws -> String? {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return state.withLock { $0.secret }
    }

    package func keep(_ secret: String) {
        guard canKeep else { return }
        state.withLock { [rival] state in
            state.kept += 1
            state.secret = rival ?? state.secret ?? secret
        }
    }
}
