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
        for (report, result) in zip(reports, outcome.results) {
            let labels = [("action", result.action.rawValue), ("reason", Self.label(of: report.reason))]
            metrics.counter(.feedback, labels).increment()
        }
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
