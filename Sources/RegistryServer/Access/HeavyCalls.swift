import RegistryCore
import Synchronization

/// Counts the heavy calls that are under way, so that nobody has more of them at once than is fair: what one of them costs
/// is bounded, and so is what all of one caller cost.
final class HeavyCalls: Sendable {
    /// The caller whose calls are counted together.
    private enum Owner: Sendable, Hashable {
        case installation([UInt8], of: String)
        case network(CallerNetwork)
        case credentials(UTF8Text)
    }

    private let limits: ServerConfiguration.HeavyCallLimits
    private let underWay = Mutex<(byOwner: [Owner: Int], all: Int)>(([:], 0))

    init(_ limits: ServerConfiguration.HeavyCallLimits) { self.limits = limits }

    /// Begins a call, which is over when what is returned has gone.
    ///
    /// - Parameter place: the app and environment that the installation is of.
    /// - Throws: `RateLimited` when as many are under way as may be.
    func begin(_ principal: Principal, _ caller: Caller, in place: String) throws(RateLimited) -> CountedCall {
        let shares = shares(of: principal, caller, place)
        let full: (owner: Owner, limit: Int)? = underWay.withLock { underWay in
            if let full = shares.first(where: { underWay.byOwner[$0.owner, default: 0] >= $0.limit }) { return full }
            for share in shares { underWay.byOwner[share.owner, default: 0] += 1 }
            underWay.all += 1
            return nil
        }
        if let full { throw .byHeavyCalls(of: Self.name(full.owner), limit: full.limit) }
        return CountedCall { [self] in end(shares.map(\.owner)) }
    }

    /// How many are under way, of all owners together.
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

    private func shares(of principal: Principal, _ caller: Caller, _ place: String) -> [(owner: Owner, limit: Int)] {
        var shares: [(owner: Owner, limit: Int)] = []
        if let installation = caller.installation {
            shares.append((.installation(installation, of: place), limits.installation))
        }
        if let network = caller.network { shares.append((.network(network), limits.network)) }
        // Everybody has a publishable key: a limit of the whole key would be a switch that few networks could turn off for all.
        if let name = principal.countedName, !principal.isPublishableKey {
            shares.append((.credentials(name), principal.role == .client ? limits.user : limits.key))
        }
        return shares
    }

    private static func name(_ owner: Owner) -> String {
        switch owner {
        case .installation: "this installation"
        case .network: "this address"
        case .credentials: "these credentials"
        }
    }
}
