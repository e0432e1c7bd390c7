import RegistryCore
import Synchronization

/// Limits the memory of undecoded bodies, in total and by network.
///
/// A network gets at most an eighth of the total and a quarter of the free part. Shares shrink as use grows, so a few
/// networks cannot exclude others.
final class BodyBudget: Sendable {
    private struct State {
        var used = 0
        var byNetwork: [CallerNetwork: Int] = [:]
    }

    let capacity: Int
    private let state = Mutex(State())
    init(_ capacity: Int) { self.capacity = capacity }
    var used: Int { state.withLock { $0.used } }

    /// Reserves room until the returned value is deallocated. `bytes` is the announced size, or 0. A nil `network` has
    /// no share of its own.
    func reserve(_ bytes: Int, for network: CallerNetwork?) throws(BodyBudgetIsSpent) -> BodyReservation {
        let reservation = BodyReservation(of: self, for: network)
        try reservation.grow(by: bytes)
        return reservation
    }

    fileprivate func reserveBytes(_ bytes: Int, for network: CallerNetwork?) throws(BodyBudgetIsSpent) {
        let isTaken = state.withLock { state in
            let free = capacity - state.used
            guard bytes <= free else { return false }
            if let network {
                let held = state.byNetwork[network, default: 0]
                guard held + bytes <= min(capacity / 8, free / 4) else { return false }
                if bytes > 0 { state.byNetwork[network] = held + bytes }
            }
            state.used += bytes
            return true
        }
        guard isTaken else { throw BodyBudgetIsSpent() }
    }

    fileprivate func giveBack(_ bytes: Int, of network: CallerNetwork?) {
        state.withLock { state in
            state.used -= bytes
            guard let network, let held = state.byNetwork[network] else { return }
            state.byNetwork[network] = held > bytes ? held - bytes : nil
        }
    }
}

final class BodyReservation: Sendable {
    private let budget: BodyBudget
    private let network: CallerNetwork?
    private let bytes = Mutex(0)

    fileprivate init(of budget: BodyBudget, for network: CallerNetwork?) {
        self.budget = budget
        self.network = network
    }

    deinit { budget.giveBack(bytes.withLock { $0 }, of: network) }

    /// If it throws, the current reservation stays.
    func grow(by more: Int) throws(BodyBudgetIsSpent) {
        try budget.reserveBytes(more, for: network)
        bytes.withLock { $0 += more }
    }
}

/// The body does not fit now. Its unread part still arrives, so the connection cannot be reused.
struct BodyBudgetIsSpent: Error {
    var problem: Problem {
        var problem = Problem(
            .unavailable,
            "Too many request bodies are in progress. Send the same request again."
        )
        problem.retryAfter = .seconds(1)
        return problem
    }
}
