import RegistryCore

/// Stops quarantines of a kind of token while too many are reported (R8).
///
/// A wrong key, topic or environment on the sender's side looks like very many bad tokens at once.
package struct BurstGuard: Sendable, Hashable {
    /// The time in which quarantines are counted, and the time without reports after which the guard turns off.
    package static let window = Duration.seconds(600)
    /// Current tokens beyond this number do not raise the limit.
    package static let mostCurrent = 5000

    package let kind: String
    /// The time since which nothing is quarantined.
    package var trippedAt: Timestamp?
    /// The last report that quarantined, or would have.
    package var reportedAt: Timestamp?
    /// The number of quarantines in the window.
    package let recent: Int
    /// The number of current tokens of the kind, at most ``mostCurrent``.
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

    /// Whether this many more quarantines exceed the limit.
    package func isExceeded(by more: Int) -> Bool {
        recent + more > max(3, min(current, Self.mostCurrent) / 5)
    }

    /// Counts the tokens that a batch of reports would quarantine.
    ///
    /// - Returns: whether the guard trips.
    mutating func count(_ quarantines: Int, at now: Timestamp) -> Bool {
        guard quarantines > 0 else { return false }
        let wasOn = isOn(at: now)
        reportedAt = now
        if wasOn { return false }
        trippedAt = isExceeded(by: quarantines) ? now : nil
        return trippedAt != nil
    }
}
