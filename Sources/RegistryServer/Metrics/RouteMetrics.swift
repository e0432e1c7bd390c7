import HTTPTypes
import Metrics
import NIOCore

/// Counts the requests of one route. Created once per route, so that a request costs two additions.
final class RouteMetrics: Sendable {
    private static let classes = ["2xx", "3xx", "4xx", "5xx"]

    private let responses: [Counter]
    private let durations: Timer

    /// HEAD counts as GET. `template` is the route's template or another constant, never a path.
    init(method: String, template: String, _ factory: any MetricsFactory) {
        let dimensions = [("method", method), ("route", template)]
        responses = Self.classes.map { name in
            Counter(
                label: Metric.requests.rawValue,
                dimensions: dimensions + [("status", name)],
                factory: factory
            )
        }
        durations = Timer(label: Metric.requestSeconds.rawValue, dimensions: dimensions, factory: factory)
    }

    func count(_ status: HTTPResponse.Status, after duration: TimeAmount) {
        let index = min(max(status.code / 100 - 2, 0), responses.count - 1)
        responses[index].increment()
        durations.recordNanoseconds(duration.nanoseconds)
    }
}
