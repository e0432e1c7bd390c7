import HTTPTypes
import NIOCore
import RegistryStore

/// Counts the requests of one route. Created once per route, so that a request costs two additions.
struct RouteMetrics: Sendable {
    private let responses: [RecordedMetrics.Counter]
    private let durations: Histogram

    /// HEAD counts as GET. `template` is the route's template or another constant, never a path.
    init(method: String, template: String, _ metrics: RecordedMetrics) {
        let dimensions = [("method", method), ("route", template)]
        responses = ["2xx", "3xx", "4xx", "5xx"].map { metrics.counter(.requests, dimensions + [("status", $0)]) }
        durations = metrics.histogram(.requestSeconds, dimensions)
    }

    func count(_ status: HTTPResponse.Status, after duration: TimeAmount) {
        responses[min(max(status.code / 100 - 2, 0), responses.count - 1)].increment()
        durations.record(Double(duration.nanoseconds) / 1e9)
    }
}

/// Counts requests above a caller's fair share.
struct RefusalMetrics: Sendable {
    private let bodies: RecordedMetrics.Counter
    private let heavyCalls: RecordedMetrics.Counter
    private let credentials: RecordedMetrics.Counter

    init(_ metrics: RecordedMetrics) {
        bodies = metrics.counter(.refusedBodies)
        heavyCalls = metrics.counter(.refusedHeavyCalls)
        credentials = metrics.counter(.limitedCredentials)
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
