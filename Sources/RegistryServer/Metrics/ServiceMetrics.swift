import HTTPTypes
import RegistryCore
import RegistryStore

final class ServiceMetrics: Sendable {
    let recorded = RecordedMetrics()
    let registrations: RegistrationMetrics
    let unmatched: RouteMetrics
    let followers = FollowerCount()
    let version: String

    private let registry: Registry
    private let issuerKeys: IssuerKeys
    private let totals: TimedCache<Totals>
    private let build: MetricsText.Labels

    init(_ registry: Registry, _ configuration: ServerConfiguration, _ issuerKeys: IssuerKeys, _ clock: ServiceClock) {
        self.registry = registry
        self.issuerKeys = issuerKeys
        version = configuration.version
        registrations = RegistrationMetrics(recorded)
        // Prometheus needs these counters before they count.
        for metric in [Metric.refusedBodies, .refusedHeavyCalls, .limitedCredentials, .sweeps, .sweepFailures] {
            _ = recorded.counter(metric)
        }
        for task in SweepTask.allCases { _ = recorded.counter(.sweptRows, [("task", task.rawValue)]) }
        unmatched = RouteMetrics(method: "any", template: "none", recorded)
        totals = TimedCache(lifetime: configuration.limits.totalsLifetime, clock: clock) {
            try await registry.totals()
        }
        build = MetricsText.labels([
            ("version", configuration.version), ("schema", String(SchemaMigrator.currentVersion)),
        ])
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
            recorded.write(metric, to: &text)
        case .build: text.add(metric, [(build, 1)])
        case .batchSizes: text.add(metric, storeMetrics.batches.labelled("work") { $0.sizes.snapshot })
        case .batchWaits: text.add(metric, storeMetrics.batches.labelled("work") { $0.waits.snapshot })
        case .statementSeconds: text.add(metric, storeMetrics.statements.labelled("work", \.snapshot))
        case .connectionWaits: text.add(metric, [("", storeMetrics.connectionWaits.snapshot)])
        case .connections:
            let states = [("busy", connections.busy), ("idle", connections.idle)]
            text.add(metric, states.map { (MetricsText.labels([("state", $0)]), Double($1)) })
        case .connectionLimit: text.add(metric, Double(registry.mostConnections))
        case .connectionQueue: text.add(metric, Double(connections.waiting))
        case .connects: text.add(metric, Double(connections.opened))
        case .connectFailures: text.add(metric, Double(connections.failures))
        case .retries: text.add(metric, Double(connections.retries))
        case .followers: text.add(metric, Double(followers.value))
        case .issuersWithoutKeys: text.add(metric, Double(issuerKeys.failures))
        case .postgresUp: text.add(metric, totals == nil ? 0 : 1)
        case .activities, .tokens: text.add(metric, totals?.series(of: metric) ?? [])
        case .countsAge: text.add(metric, totals.map { $0.age / .seconds(1) })
        case .activeGuards: text.add(metric, totals.map { Double($0.activeGuards) })
        case .events: text.add(metric, totals.map { Double($0.eventsWritten) })
        case .oldSnapshot:
            let old = totals?.oldSnapshot
            text.add(metric, old.map { [(MetricsText.labels([("holder", $0.holder)]), Double($0.age))] } ?? [])
        case .sweepLag: text.add(metric, totals.map { $0.sweepLag / .seconds(1) })
        }
    }
}

extension Totals {
    fileprivate func series(of metric: Metric) -> [(labels: MetricsText.Labels, value: Double)] {
        counts.flatMap { environment, counts in
            counts.compactMap { group, count in
                let (of, labels) = group.series
                guard of == metric else { return nil }
                return (MetricsText.labels([("environment", environment.rawValue)] + labels), Double(count))
            }
        }.sorted { $0.labels < $1.labels }
    }
}

extension Counts.Group {
    fileprivate var series: (metric: Metric, labels: [(String, String)]) {
        switch self {
        case .activities(let state): (.activities, [("state", state.rawValue)])
        case .tokens(let kind, let state): (.tokens, [("kind", kind.name), ("state", state.rawValue)])
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
}
