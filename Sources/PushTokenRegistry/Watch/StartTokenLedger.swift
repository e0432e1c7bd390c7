import Foundation

/// The start tokens that were reported, and when: a value without I/O.
package struct StartTokenLedger: Sendable {
    /// A token is confirmed once a day: it becomes stale without notice, and its last confirmation is its only sign of life (C3).
    package static let confirmation = Duration.seconds(24 * 3600)

    private var reported: [String: (token: Data, uptime: Duration)] = [:]
    private var isOff = false

    /// Whether to report a token: it is another one than before, or the same after a day.
    package mutating func takes(_ token: Data, of type: String, at uptime: Duration) -> Bool {
        guard !isOff else { return false }
        if let last = reported[type], last.token == token, uptime - last.uptime < Self.confirmation { return false }
        reported[type] = (token, uptime)
        return true
    }

    /// The switch in Settings was read (C4).
    ///
    /// - Returns: whether to remove the start tokens. Once the switch is on again, all are reported again.
    package mutating func isSwitched(on: Bool) -> Bool {
        guard on == isOff else { return false }
        isOff = !on
        reported = [:]
        return isOff
    }

    /// When the next token is to be confirmed.
    package func nextConfirmation(after uptime: Duration) -> Duration {
        reported.values.map { $0.uptime + Self.confirmation }.filter { $0 > uptime }.min() ?? uptime + Self.confirmation
    }
}
