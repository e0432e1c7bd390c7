import Metrics

/// Counts requests above a caller's fair share.
struct RefusalMetrics: Sendable {
    private let bodies: Counter
    private let heavyCalls: Counter
    private let credentials: Counter

    init(_ factory: any MetricsFactory) {
        bodies = Counter(label: Metric.refusedBodies.rawValue, factory: factory)
        heavyCalls = Counter(label: Metric.refusedHeavyCalls.rawValue, factory: factory)
        credentials = Counter(label: Metric.limitedCredentials.rawValue, factory: factory)
    }

    func count(_ error: any Error) {
        switch error {
        case is BodyBudgetIsSpent: bodies.increment()
        case let error as RateLimited where error.quota.policy == RateLimited.concurrent: heavyCalls.increment()
        case let error as RateLimited where error.quota.policy == RateLimited.credentials: credentials.increment()
        default: break
        }
    }
}
