import Foundation

/// The start tokens that were told, and when: a value without I/O.
package struct StartTokenLedger: Sendable {
    /// Once a day a token is confirmed: it goes silently stale, and its last confirmation is its only sign of life (C3).
    package static let confirmation = Duration.seconds(24 * 3600)

    private var told: [String: Told] = [:]
    private var isOff = false

    package init() {}

    private struct Told {
        let token: Data
        let uptime: Duration
    }

    /// Whether a token is to be told: another one than before, or the same after a day.
    package mutating func takes(_ token: Data, of type: String, at uptime: Duration) -> Bool {
        guard !isOff else { return false }
        if let told = told[type], told.token == token, uptime - told.uptime < Self.confirmation { return false }
        told[type] = Told(token: token, uptime: uptime)
        return true
    }

    /// The switch in Settings was looked at (C4).
    ///
    /// - Returns: whether the start tokens are to be taken back. Once it is on again, all are told anew.
    package mutating func isSwitched(on: Bool) -> Bool {
        guard on == isOff else { return false }
        isOff = !on
        told = [:]
        return isOff
    }

    /// When the next token is to be confirmed.
    package func nextConfirmation(after uptime: Duration) -> Duration {
        told.values.map { $0.uptime + Self.confirmation }.filter { $0 > uptime }.min() ?? uptime + Self.confirmation
    }
}
