import HTTPTypes
import Logging
import NIOCore
import RegistryCore
import RegistryStore
import Synchronization

/// The counters and histograms that this instance records, by labels.
///
/// Code on hot paths looks up its counter once and keeps it, so that counting needs no lookup.
final class RecordedMetrics: Sendable {
    final class Counter: Sendable {
        private let total = Atomic(0)

        var value: Int { total.load(ordering: .relaxed) }
        func increment(by amount: Int = 1) { total.wrappingAdd(amount, ordering: .relaxed) }
    }

    private let sweep = Mutex<Sweep?>(nil)
    private let counters = Mutex<[Metric: [MetricsText.Labels: Counter]]>([:])
    private let histograms = Mutex<[Metric: [MetricsText.Labels: Histogram]]>([:])

    var lastSweep: Sweep? {
        get { sweep.withLock(\.self) }
        set { sweep.withLock { $0 = newValue } }
    }

    func counter(_ metric: Metric, _ dimensions: [(String, String)] = []) -> Counter {
        let labels = MetricsText.labels(dimensions)
        return counters.withLock { counters in
            let counter = counters[metric]?[labels] ?? Counter()
            counters[metric, default: [:]][labels] = counter
            return counter
        }
    }

    /// Of times in seconds.
    func histogram(_ metric: Metric, _ dimensions: [(String, String)]) -> Histogram {
        let labels = MetricsText.labels(dimensions)
        return histograms.withLock { histograms in
            let histogram = histograms[metric]?[labels] ?? Histogram(bounds: Histogram.seconds)
            histograms[metric, default: [:]][labels] = histogram
            return histogram
        }
    }

    func write(_ metric: Metric, to text: inout MetricsText) {
        let counters = counters.withLock { $0[metric] ?? [:] }
        let histograms = histograms.withLock { $0[metric] ?? [:] }
        text.add(metric, counters.map { ($0, Double($1.value)) }.sorted { $0.0 < $1.0 })
        text.add(metric, histograms.map { ($0, $1.snapshot) }.sorted { $0.0 < $1.0 })
    }
}

/// Prometheus's text format, version 0.0.4.
struct MetricsText {
    typealias Labels = String

    private(set) var text = ""

    mutating func add(_ metric: Metric, _ series: [(labels: Labels, value: Double)]) {
        guard begin(metric, if: !series.isEmpty) else { return }
        for (labels, value) in series { line(metric.rawValue, labels, value) }
    }

    mutating func add(_ metric: Metric, _ value: Double?) { add(metric, value.map { [("", $0)] } ?? []) }

    /// Omits empty histograms, because each has many buckets.
    mutating func add(_ metric: Metric, _ series: [(labels: Labels, value: Histogram.Snapshot)]) {
        let series = series.filter { $0.value.count > 0 }
        guard begin(metric, if: !series.isEmpty) else { return }
        for (labels, value) in series { add(metric.rawValue, labels, value) }
    }

    private mutating func add(_ name: String, _ labels: Labels, _ histogram: Histogram.Snapshot) {
        var total = 0
        for (bound, count) in zip(histogram.bounds + [.infinity], histogram.counts) {
            total += count
            let limit = "le=\"\(bound.isInfinite ? "+Inf" : Self.format(bound))\""
            line(name + "_bucket", labels.isEmpty ? limit : "\(labels),\(limit)", Double(total))
        }
        line(name + "_sum", labels, histogram.sum)
        line(name + "_count", labels, Double(total))
    }

    private mutating func begin(_ metric: Metric, if isThere: Bool) -> Bool {
        if isThere { text += "# HELP \(metric.rawValue) \(metric.help)\n# TYPE \(metric.rawValue) \(metric.type)\n" }
        return isThere
    }

    private mutating func line(_ name: String, _ labels: Labels, _ value: Double) {
        text += name
        if !labels.isEmpty { text += "{\(labels)}" }
        text += " \(Self.format(value))\n"
    }

    private static func format(_ value: Double) -> String { Int(exactly: value).map(String.init) ?? "\(value)" }

    static func labels(_ dimensions: [(String, String)]) -> Labels {
        dimensions.map { name, value in
            let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            return "\(name)=\"\(escaped)\""
        }.joined(separator: ",")
    }
}

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

struct RegistrationMetrics: Sendable {
    /// Counted by code. Others count as `other`.
    private static let refusals: [Problem.Code] = [
        .superseded, .tokenKindConflict, .tokenUnregistered, .activityEnded, .activityExpired, .clockSkew, .notYours,
        .unavailable,
    ]

    private static let others = "other"

    /// By kind and outcome. Kinds of apps' settings have one label, so that no app makes many.
    private var counters: [String: [String: RecordedMetrics.Counter]] = [:]

    init(_ metrics: RecordedMetrics) {
        let outcomes = RegistrationOutcome.allCases.map(\.rawValue) + Self.refusals.map(\.rawValue) + [Self.others]
        let kinds = TokenKind.all.map(\.name) + [Self.others]
        for kind in kinds {
            let all = outcomes.map { ($0, metrics.counter(.registrations, [("kind", kind), ("outcome", $0)])) }
            counters[kind] = Dictionary(uniqueKeysWithValues: all)
        }
    }

    func count(_ result: Result<RegistrationOutcome, Problem>, of kind: TokenKind) {
        let counters = counters[kind.name] ?? counters[Self.others] ?? [:]
        let outcome =
            switch result {
            case .success(let outcome): outcome.rawValue
            case .failure(let problem): problem.code.rawValue
            }
        (counters[outcome] ?? counters[Self.others])?.increment()
    }

    func counting<Value>(
        _ kind: TokenKind,
        _ outcome: (Value) -> RegistrationOutcome,
        _ register: () async throws -> Value
    ) async throws -> Value {
        do {
            let value = try await register()
            count(.success(outcome(value)), of: kind)
            return value
        } catch {
            if let problem = error as? Problem { count(.failure(problem), of: kind) }
            throw error
        }
    }
}

final class FeedbackRecorder: Sendable {
    private let clock: ServiceClock
    private let logger: Logger
    private let metrics: RecordedMetrics
    private let notices = MinuteThrottle()

    init(clock: ServiceClock, logger: Logger, metrics: RecordedMetrics) {
        (self.clock, self.logger, self.metrics) = (clock, logger, metrics)
    }

    func record(_ outcome: FeedbackOutcome, of reports: [FeedbackReport], in scope: Scope) {
        for (report, result) in zip(reports, outcome.results) {
            let labels = [("action", result.action.rawValue), ("reason", Self.label(of: report.reason))]
            metrics.counter(.feedback, labels).increment()
        }
        guard !outcome.trippedKinds.isEmpty else { return }
        // The metric does not exist before the first guard trips.
        metrics.counter(.guardTrips).increment(by: outcome.trippedKinds.count)
        guard notices.isDue(at: clock.uptime()) else { return }
        logger.notice(
            "many tokens were reported, so check the sender's topic, key and environment; tokens are not quarantined for now",
            metadata: [
                "app": "\(scope.app.bundleID)", "environment": "\(scope.environment.rawValue)",
                "kinds": "\(outcome.trippedKinds.joined(separator: ", "))",
            ]
        )
    }

    /// Replaces unknown reasons, to bound the number of series.
    private static func label(of reason: UTF8Text?) -> String {
        reason.map { reasons.contains($0) ? $0.string : "other" } ?? "none"
    }

    /// From APNs's documentation, with the one that APNs spells differently.
    private static let reasons: Set<UTF8Text> = [
        "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic",
        "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "MissingDeviceToken",
        "MissingTopic", "PayloadEmpty", "TopicDisallowed", "BadCertificate", "BadCertificateEnvironment",
        "ExpiredProviderToken", "Forbidden", "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken",
        "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadPath", "MethodNotAllowed", "ExpiredToken",
        "Unregistered", "PayloadTooLarge", "TooManyProviderTokenUpdates", "TooManyRequests", "InternalServerError",
        "ServiceUnavailable", "Shutdown", "ChannelNotRegistered",
    ]
}
