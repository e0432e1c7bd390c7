import RegistryCore

/// Counts credentials that turn out not to be valid, by the network that they come from: after so many of them, others of
/// that network that are not known to be valid are refused before anything is looked up for them.
///
/// Credentials that are known to be valid are never refused here, so those who share a network with somebody who tries
/// credentials go on.
final class FailedCredentials: Sendable {
    private let limiter: RateLimiter?

    init(_ limit: RateLimit?, clock: ServiceClock) {
        limiter = limit.map { RateLimiter(RateLimited.credentials, $0, clock: clock) }
    }

    /// Finds out whether credentials are valid, unless too many of the network's were not.
    ///
    /// Each is counted while it is being looked into, so that many at once are no way around the limit.
    ///
    /// - Parameters:
    ///   - network: nil is not counted.
    ///   - isKnown: whether the same credentials were valid lately.
    ///   - prove: throws `unauthenticated` for those that are not valid.
    /// - Throws: `RateLimited`, and what `prove` throws.
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
