import RegistryCore
import Synchronization

/// Limits concurrent heavy calls by caller. The cost of each call has its own bound.
final class HeavyCalls: Sendable {
    private enum Owner: Sendable, Hashable {
        case installation([UInt8], of: String)
        case network(CallerNetwork)
        case credentials(UTF8Text)
    }

    private typealias Share = (owner: Owner, limit: Int, name: String)
    private let limits: ServerConfiguration.HeavyCallLimits
    private let underWay = Mutex<(byOwner: [Owner: Int], all: Int)>(([:], 0))

    init(_ limits: ServerConfiguration.HeavyCallLimits) { self.limits = limits }

    /// The call counts until the permit is finished or deallocated. `place` is the app and environment of the
    /// installation.
    func countCall(_ principal: Principal, _ caller: Caller, in place: String) throws(RateLimited) -> Permit {
        let shares = shares(of: principal, caller, place)
        let full: Share? = underWay.withLock { underWay in
            if let full = shares.first(where: { underWay.byOwner[$0.owner, default: 0] >= $0.limit }) { return full }
            for share in shares { underWay.byOwner[share.owner, default: 0] += 1 }
            underWay.all += 1
            return nil
        }
        if let full { throw .byHeavyCalls(of: full.name, limit: full.limit) }
        return Permit { [self] in end(shares.map(\.owner)) }
    }

    var count: Int { underWay.withLock { $0.all } }

    private func end(_ owners: [Owner]) {
        underWay.withLock { underWay in
            underWay.all -= 1
            for owner in owners {
                let rest = underWay.byOwner[owner, default: 1] - 1
                underWay.byOwner[owner] = rest == 0 ? nil : rest
            }
        }
    }

    private func shares(of principal: Principal, _ caller: Caller, _ place: String) -> [Share] {
        var shares: [Share] = []
        if let installation = caller.installation {
            shares.append((.installation(installation, of: place), limits.installation, "this installation"))
        }
        if let network = caller.network { shares.append((.network(network), limits.network, "this address")) }
        // A publishable key has no limit as a whole, because a few networks could exhaust it for all users.
        if let name = principal.countedName, !principal.isPublishableKey {
            let limit = principal.role == .client ? limits.user : limits.key
            shares.append((.credentials(name), limit, "these credentials"))
        }
        return shares
    }
}

/// Counts as in flight until it is finished or deallocated.
final class Permit: Sendable {
    private let end: @Sendable () -> Void
    private let isOver = Atomic(false)
    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { finish() }

    func finish() {
        if !isOver.exchange(true, ordering: .acquiringAndReleasing) { end() }
    }
}
