import HTTPTypes
import RegistryCore
import RegistryStore

final class ServiceMetrics: Sendable {
    let factory = PrometheusMetrics()
    let registrations: RegistrationMetrics
    let refusals: RefusalMetrics
    let unmatched: RouteMetrics
    let followers = FollowerCount()
    let version: String

    private let registry: Registry
    private let issuers: IssuerJournal
    private let totals: TimedCache<Totals>
    private let build: MetricsText.Labels

    init(registry: Registry, configuration: ServerConfiguration, clock: ServiceClock = .system) {
        self.registry = registry
        version = configuration.version
        issuers = configuration.issuers
        registrations = RegistrationMetrics(factory)
        refusals = RefusalMetrics(factory)
        unmatched = RouteMetrics(method: "any", template: "none", factory)
        totals = TimedCache(lifetime: configuration.limits.totalsLifetime, clock: clock) {
            try await registry.totals()
        }
        build = MetricsText.labels([
            ("version", configuration.version), ("schema", String(SchemaMigrator.currentVersion)),
        ])
    }

    func metrics(method: String, template: String) -> RouteMetrics {
        RouteMetrics(method: method, template: template, factory)
    }

    /// Omits metrics from Postgres if it is not available.
    func response() async -> Response {
        let totals = try? await totals.value()
        var text = MetricsText()
        for metric in Metric.allCases { write(metric, totals, to: &text) }
        return Response(fields: [.contentType: MetricsText.mediaType], body: .bytes(Array(text.text.utf8)))
    }

    private func write(_ metric: Metric, _ totals: Totals?, to text: inout MetricsText) {
        let (connections, storeMetrics) = (registry.connections, registry.metrics)
        switch metric {
        case .requests, .requestSeconds, .refusedBodies, .refusedHeavyCalls, .limitedCredentials, .registrations,
            .feedback, .ignoredGorushPosts, .guardTrips, .sweeps, .sweepFailures, .sweptRows:
            factory.write(metric, to: &text)
        case .build: text.add(metric, [(build, 1)])
        case .batchSizes: text.add(metric, storeMetrics.batches.labelled("work") { $0.sizes.snapshot })
        case .batchWaits: text.add(metric, storeMetrics.batches.labelled("work") { $0.waits.snapshot })
        case .statementSeconds: text.add(metric, storeMetrics.statements.labelled("work", \.snapshot))
        case .connectionWaits: text.add(metric, [("", storeMetrics.connectionWaits.snapshot)])
        case .connections:
            text.add(metric, ["idle": connections.idle, "busy": connections.busy].labelled("state", Double.init))
        case .connectionLimit: text.add(metric, Double(connections.maximum))
        case .connectionQueue: text.add(metric, Double(connections.waiting))
        case .connects: text.add(metric, Double(connections.opened))
        case .connectFailures: text.add(metric, Double(connections.failures))
        case .retries: text.add(metric, Double(connections.retries))
        case .followers: text.add(metric, Double(followers.value))
        case .issuersWithoutKeys: text.add(metric, Double(issuers.count))
        case .postgresUp: text.add(metric, totals == nil ? 0 : 1)
        case .activeGuards, .activities, .tokens, .countsAge, .events, .sweepLag: totals?.write(metric, to: &text)
        }
    }
}

extension Totals {
    fileprivate func write(_ metric: Metric, to text: inout MetricsText) {
        switch metric {
        case .activities, .tokens: text.add(metric, series(of: metric))
        case .countsAge: text.add(metric, age / .seconds(1))
        case .activeGuards: text.add(metric, Double(activeGuards))
        case .events: text.add(metric, Double(eventsWritten))
        case .sweepLag: text.add(metric, sweepLag / .seconds(1))
        default: break
        }
    }

    private func series(of metric: Metric) -> [(labels: MetricsText.Labels, value: Double)] {
        counts.flatMap { environment, counts in
            counts.compactMap { group, count in
                guard group.metric == metric else { return nil }
                let labels = MetricsText.labels([("environment", environment.rawValue)] + group.labels)
                return (labels, Double(count))
            }
        }.sorted { $0.labels < $1.labels }
    }
}

extension Counts.Group {
    fileprivate var metric: Metric {
        switch self {
        case .activities: .activities
        case .tokens: .tokens
        }
    }

    fileprivate var labels: [(String, String)] {
        switch self {
        case .activities(let state): [("state", state.rawValue)]
        case .tokens(let kind, let state): [("kind", kind.name), ("state", state.rawValue)]
        }
    }
}

extension Dictionary {
    fileprivate func labelled<Measured>(
        _ name: String,
        _ read: (Value) -> Measured
    ) -> [(labels: MetricsText.Labels, value: Measured)] where Key: RawRepresentable<String> {
        map { (MetricsText.labels([(name, $0.rawValue)]), read($1)) }.sorted { $0.0 < $1.0 }
    }

    fileprivate func labelled<Measured>(
        _ name: String,
        _ read: (Value) -> Measured
    ) -> [(labels: MetricsText.Labels, value: Measured)] where Key == String {
        map { (MetricsText.labels([(name, $0)]), read($1)) }.sorted { $0.0 < $1.0 }
    }
}
