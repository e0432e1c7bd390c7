import Foundation

/// The ways in which a connection to APNs and its answers go wrong, each counted over all requests from 1.
package struct Faults: Sendable {
    /// The requests after which a connection gets GOAWAY and is closed.
    package var goAwayAfter: Int?
    /// The time for which each answer waits.
    package var answerDelay: Duration = .zero
    /// The connection of each n-th request is reset before the answer, if APNs has taken the push.
    package var resetEvery: Int?
    /// Each n-th request is answered 503 and not taken.
    package var unavailableEvery: Int?
    /// Each n-th request is answered 429 and not taken.
    package var tooManyEvery: Int?

    package init() {}

    /// The answer that the n-th request gets without being looked at.
    func answer(_ number: Int) -> PushResponse? {
        if Self.isTurn(unavailableEvery, number) { return PushResponse(503, "ServiceUnavailable") }
        return Self.isTurn(tooManyEvery, number) ? PushResponse(429, "TooManyRequests") : nil
    }

    func resets(_ number: Int) -> Bool { Self.isTurn(resetEvery, number) }
    private static func isTurn(_ every: Int?, _ number: Int) -> Bool { every.map { number % $0 == 0 } ?? false }
}
