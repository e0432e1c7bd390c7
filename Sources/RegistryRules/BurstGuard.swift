import RegistryCore

/// Stops quarantines of one token kind while too many are reported (R8).
///
/// A sender's wrong key, topic or environment looks like a burst of bad tokens.
package struct BurstGuard: Sendable, Hashable {
    /// The time in which quarantines count. The guard turns off after this time without a report.
    package static let window = Duration.seconds(600)
    /// More current tokens than this number do not raise the limit.
    package static let mostCurrent = 5000

    package let kind: String
    /// If set and the guard is on, nothing is quarantined.
    package var trippedAt: Timestamp?
    /// The last report that quarantined a token, or would have.
    package var reportedAt: Timestamp?
    package let recent: Int
    /// Current tokens of the kind, at most ``mostCurrent``.
    package let current: Int

    package init(kind: String, trippedAt: Timestamp? = nil, reportedAt: Timestamp? = nil, recent: Int, current: Int) {
        self.kind = kind
        self.trippedAt = trippedAt
        self.reportedAt = reportedAt
        self.recent = recent
        self.current = current
    }

    package func isOn(at now: Timestamp) -> Bool {
        guard trippedAt != nil, let reportedAt else { return false }
        return reportedAt > now - Self.window
    }

    package func isExceeded(by more: Int) -> Bool { recent + more > max(3, min(current, Self.mostCurrent) / 5) }

    /// Returns whether the guard trips.
    mutating func count(_ quarantines: Int, at now: Timestamp) -> Bool {
        guard quarantines > 0 else { return false }
        let wasOn = isOn(at: now)
        reportedAt = now
        if wasOn { return false }
        trippedAt = isExceeded(by: quarantines) ? now : nil
        return trippedAt != nil
    }
}
