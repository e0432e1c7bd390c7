import HTTPTypes
import RegistryCore
import RegistryStore

/// All metrics by Prometheus name.
///
/// Labels have few values, all from this program: route templates, states, codes. Never an id, a token or an app.
enum Metric: String, Sendable, CaseIterable {
    case build = "pushreg_build_info"
    case requests = "pushreg_http_requests_total"
    case requestSeconds = "pushreg_http_request_duration_seconds"
    case refusedBodies = "pushreg_bodies_refused_total"
    case refusedHeavyCalls = "pushreg_heavy_calls_refused_total"
    case limitedCredentials = "pushreg_credentials_limited_total"
    case registrations = "pushreg_registrations_total"
    case feedback = "pushreg_feedback_total"
    case ignoredGorushPosts = "pushreg_gorush_posts_ignored_total"
    case guardTrips = "pushreg_quarantine_guard_trips_total"
    case activeGuards = "pushreg_quarantine_guards_active"
    case batchSizes = "pushreg_batch_size"
    case batchWaits = "pushreg_batch_wait_seconds"
    case statementSeconds = "pushreg_statement_duration_seconds"
    case connectionWaits = "pushreg_pool_wait_seconds"
    case connections = "pushreg_pool_connections"
    case connectionLimit = "pushreg_pool_connections_max"
    case connectionQueue = "pushreg_pool_waiting"
    case connects = "pushreg_pool_connects_total"
    case connectFailures = "pushreg_pool_connect_failures_total"
    case retries = "pushreg_pool_retries_total"
    case followers = "pushreg_change_streams"
    case issuersWithoutKeys = "pushreg_issuers_without_keys"
    case postgresUp = "pushreg_postgres_up"
    case activities = "pushreg_activities"
    case tokens = "pushreg_tokens"
    case countsAge = "pushreg_counts_age_seconds"
    case events = "pushreg_events_written_total"
    case sweeps = "pushreg_sweeps_total"
    case sweepFailures = "pushreg_sweep_failures_total"
    case sweptRows = "pushreg_sweep_rows_total"
    case sweepLag = "pushreg_sweep_lag_seconds"
    case oldSnapshot = "pushreg_old_snapshot_transactions"

    var help: String {
        switch self {
        case .build: "1, with the versions of the program and of its schema."
        case .requests: "Requests, by route and class of status; requests without a route have the route none."
        case .requestSeconds: "From a request's head to its response, without the time to write the response, by route."
        case .refusedBodies: "Requests refused with 503 because too many bodies or unread responses were in progress."
        case .refusedHeavyCalls: "Heavy calls refused with 429 because their caller had the maximum in progress."
        case .limitedCredentials: "Requests refused with 429 because too many credentials of their network failed."
        case .registrations: "Registrations of tokens, by kind of token and outcome; refusals by their code."
        case .feedback: "Reports of APNs's responses, by action and by APNs's reason."
        case .ignoredGorushPosts: "Posts of gorush without information about a token, by cause."
        case .guardTrips: "Burst guards tripped by reports to this instance."
        case .activeGuards: "Burst guards that are on. Tokens are not quarantined, because too many were reported."
        case .batchSizes: "Requests that shared statements and a commit."
        case .batchWaits: "How long the first request of a batch waited for it."
        case .statementSeconds: "How long the statements of a batch or call took on their connection."
        case .connectionWaits: "How long work waited for a connection."
        case .connections: "Open connections to Postgres, by whether they are in use."
        case .connectionLimit: "The maximum number of open connections to Postgres."
        case .connectionQueue: "Units of work that wait for a connection."
        case .connects: "Connections to Postgres opened."
        case .connectFailures: "Attempts to connect to Postgres that failed."
        case .retries: "Units of work retried after an error of Postgres that changed nothing."
        case .followers: "Open streams of changes."
        case .issuersWithoutKeys: "Apps with a jwksUrl that never gave this instance keys."
        case .postgresUp: "Whether Postgres answered when it was last asked for the metrics below."
        case .activities: "Activities of all apps by state, including tombstones; estimated for large numbers."
        case .tokens: "Tokens of all apps by kind and by whether senders get them; estimated for large numbers."
        case .countsAge: "The age of the two counts above, for the app with the oldest counts."
        case .events: "Audit events written by all instances, including events of failed transactions."
        case .sweeps: "Sweeps that this instance finished."
        case .sweepFailures: "Sweeps that this instance gave up."
        case .sweptRows: "Rows recorded or deleted by this instance's sweeps, by task."
        case .oldSnapshot: "Transactions since the oldest snapshot, by its holder; missing up to 100000."
        case .sweepLag: "How long the oldest expired activity has waited for a sweep."
        }
    }

    var type: String {
        switch self {
        case .requestSeconds, .batchSizes, .batchWaits, .statementSeconds, .connectionWaits: "histogram"
        case _ where rawValue.hasSuffix("_total"): "counter"
        default: "gauge"
        }
    }
}

final class ServiceMetrics: Sendable {
    let recorded = RecordedMetrics()
    let registrations: RegistrationMetrics
    let unmatched: RouteMetrics
    let followers = FollowerCount()
    let waits = FollowerCount(limit: FollowerCount.limitOfWaits)
    let version: String

    private let registry: Registry
    private let issuerKeys: IssuerKeys
    private let totals: TimedCache<Totals>

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
    }

    /// Omits metrics from Postgres if it is not available.
    func response() async -> Response {
        let totals = try? await totals.value()
        var text = MetricsText()
        for metric in Metric.allCases { write(metric, totals, to: &text) }
        let fields: HTTPFields = [.contentType: "text/plain; version=0.0.4; charset=utf-8"]
        return Response(fields: fields, body: .bytes(Array(text.text.utf8)))
    }

    private func write(_ metric: Metric, _ totals: Totals?, to text: inout MetricsText) {
        let (connections, storeMetrics) = (registry.connections, registry.metrics)
        switch metric {
        case .requests, .requestSeconds, .refusedBodies, .refusedHeavyCalls, .limitedCredentials, .registrations,
            .feedback, .ignoredGorushPosts, .guardTrips, .sweeps, .sweepFailures, .sweptRows:
            recorded.write(metric, to: &text)
        case .build:
            let labels = [("version", version), ("schema", String(SchemaMigrator.currentVersion))]
            text.add(metric, [(MetricsText.labels(labels), 1)])
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
                var labels = [("environment", environment.rawValue)]
                switch (metric, group) {
                case (.activities, .activities(let state)): labels.append(("state", state.rawValue))
                case (.tokens, .tokens(let kind, let state)):
                    labels += [("kind", kind.name), ("state", state.rawValue)]
                default: return nil
                }
                return (MetricsText.labels(labels), Double(count))
            }
        }.sorted { $0.labels < $1.labels }
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
