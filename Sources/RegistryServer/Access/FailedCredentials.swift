import RegistryCore

/// Limits invalid credentials by network. Above the limit, unknown credentials are rejected without a lookup.
///
/// Credentials that were valid recently are never rejected here, so an attacker does not affect other callers in its
/// network. Credentials count during their verification, so that concurrent requests do not bypass the limit.
final class FailedCredentials: Sendable {
    private let limiter: RateLimiter?

    init(_ limit: RateLimit?, clock: ServiceClock) {
        limiter = limit.map { RateLimiter(RateLimited.credentials, $0, clock: clock) }
    }

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
        } catch {
            if (error as? Problem)?.code != .unauthenticated { limiter.giveBack(.network(network)) }
            throw error
        }
    }
}
