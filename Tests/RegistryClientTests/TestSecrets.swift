@testable import RegistryClient

/// A keychain in memory, which the test locks.
final class TestSecrets: SecretStore {
    private struct State {
        var secret: String?
        var isLocked = false
        var kept = 0
    }

    private let state: Guarded<State>
    private let canKeep: Bool
    private let rival: String?

    /// - Parameter rival: the secret of a process that is faster by a moment.
    init(_ secret: String? = nil, canKeep: Bool = true, rival: String? = nil) {
        state = Guarded(State(secret: secret))
        (self.canKeep, self.rival) = (canKeep, rival)
    }

    var kept: Int { state.withLock { $0.kept } }
    func lock() { state.withLock { $0.isLocked = true } }
    func unlock() { state.withLock { $0.isLocked = false } }

    func read() -> StoredSecret {
        state.withLock { $0.isLocked ? .locked : $0.secret.map(StoredSecret.secret) ?? .none }
    }

    func keep(_ secret: String) -> String? {
        guard canKeep else { return nil }
        return state.withLock { [rival] state in
            state.kept += 1
            state.secret = rival ?? secret
            return state.secret
        }
    }
}

/// Numbers in the place of random ones.
final class Numbers: Sendable {
    private let rest: Guarded<[UInt64]>

    init(_ numbers: [UInt64]) { rest = Guarded(numbers) }

    @Sendable func next() -> UInt64 { rest.withLock { $0.isEmpty ? 0 : $0.removeFirst() } }
}
