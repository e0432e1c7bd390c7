import Logging
import RegistryCore
import RegistryStore
import Synchronization

final class FeedbackRecorder: Sendable {
    private let clock: ServiceClock
    private let logger: Logger
    private let metrics: RecordedMetrics
    private let lastNotice = Mutex<Duration?>(nil)

    /// Limits log messages about tripped guards. The metric counts all.
    private static let noticeInterval = Duration.seconds(60)

    init(clock: ServiceClock, logger: Logger, metrics: RecordedMetrics) {
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
    }

    func record(_ outcome: FeedbackOutcome, of reports: [FeedbackReport], in scope: Scope) {
        var counts: [FeedbackLabels: Int] = [:]
        for (report, result) in zip(reports, outcome.results) {
            counts[FeedbackLabels(result.action, report.reason), default: 0] += 1
        }
        for (labels, count) in counts { metrics.counter(.feedback, labels.dimensions).increment(by: count) }
        guard !outcome.trippedKinds.isEmpty else { return }
        // The metric does not exist before the first guard trips.
        metrics.counter(.guardTrips).increment(by: outcome.trippedKinds.count)
        recordTrips(outcome.trippedKinds, scope)
    }

    func ignore(_ reason: GorushPost.Ignored) {
        metrics.counter(.ignoredGorushPosts, [("reason", reason.rawValue)]).increment()
    }

    private func recordTrips(_ kinds: [String], _ scope: Scope) {
        let now = clock.uptime()
        let isDue = lastNotice.withLock { last in
            if let last, now - last < Self.noticeInterval { return false }
            last = now
            return true
        }
        guard isDue else { return }
        logger.notice(
            "many tokens were reported, so check the sender's topic, key and environment; tokens are not quarantined for now",
            metadata: [
                "app": "\(scope.app.bundleID)", "environment": "\(scope.environment.rawValue)",
                "kinds": "\(kinds.joined(separator: ", "))",
            ]
        )
    }
}

/// Replaces unknown reasons, to bound the number of series.
struct FeedbackLabels: Hashable {
    let action: FeedbackAction
    let reason: UTF8Text

    init(_ action: FeedbackAction, _ reason: UTF8Text?) {
        self.action = action
        self.reason = reason.map { Self.reasons.contains($0) ? $0 : "other" } ?? "none"
    }

    var dimensions: [(String, String)] { [("action", action.rawValue), ("reason", reason.string)] }

    /// From APNs's documentation, with the one that APNs spells differently.
    static let reasons: Set<UTF8Text> = [
        "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic",
        "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "MissingDeviceToken",
        "MissingTopic", "PayloadEmpty", "TopicDisallowed", "BadCertificate", "BadCertificateEnvironment",
        "ExpiredProviderToken", "Forbidden", "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken",
        "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadPath", "MethodNotAllowed", "ExpiredToken",
        "Unregistered", "PayloadTooLarge", "TooManyProviderTokenUpdates", "TooManyRequests", "InternalServerError",
        "ServiceUnavailable", "Shutdown", "ChannelNotRegistered",
    ]
}
