import PushTokenRegistry

/// An in-memory keychain that tests can lock. Like the real store, it never replaces a stored secret.
package final class TestInstallationIDStore: InstallationIDStore {
    private struct State {
        var secret: String?
        var isLocked = false
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
    package func lock() { state.withLock { $0.isLocked = true } }
    package func unlock() { state.withLock { $0.isLocked = false } }

    package func read() throws -> String? {
        if state.withLock({ $0.isLocked }) { throw Locked() }
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
