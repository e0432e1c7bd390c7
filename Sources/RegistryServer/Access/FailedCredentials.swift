import RegistryCore

/// Counts invalid credentials by network: above the limit, the network's unknown credentials are rejected before any
/// lookup.
///
/// Credentials known to be valid are never rejected here, so other callers in an attacker's network are not affected.
final class FailedCredentials: Sendable {
    private let limiter: RateLimiter?

    init(_ limit: RateLimit?, clock: ServiceClock) {
        limiter = limit.map { RateLimiter(RateLimited.credentials, $0, clock: clock) }
    }

    /// Verifies credentials, unless too many of the network's were invalid.
    ///
    /// Each counts during its verification, so that concurrent ones do not bypass the limit.
    ///
    /// - Parameters:
    ///   - network: nil is not counted.
    ///   - isKnown: whether these credentials were valid recently.
    ///   - prove: throws `unauthenticated` for invalid ones.
    /// - Throws: `RateLimited`, and errors of `prove`.
    func verify<Proved>(
        from network: CallerNetwork?,
        isKnown: Bool,
        _ prove: () async throws -> Proved
    ) async throws -> Proved {
        guard let limiter, let network, !isKnown else { return try await prove() }
        let quota = limiter.count(.network(network))
        guard quota.retryAfter == nil else { throw RateLimited(quota: quota) }
        do {
            let proved = try await prove()
            limiter.giveBack(.network(network))
            return proved
        } catch let problem as Problem where problem.code == .unauthenticated {
            throw problem
        } catch {
            limiter.giveBack(.network(network))
            throw error
        }
    }
}
