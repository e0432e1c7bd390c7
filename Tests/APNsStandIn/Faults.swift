/// Faults of connections and responses. Each counts all requests from 1.
package struct Faults: Sendable {
    /// A connection gets GOAWAY and is closed after this number of requests.
    package var goAwayAfter: Int?
    /// The delay before each response.
    package var answerDelay: Duration = .zero
    /// Every n-th request has its connection reset before the response, if APNs accepted the push.
    package var resetEvery: Int?
    /// Every n-th request gets 503 and is not accepted.
    package var unavailableEvery: Int?
    /// Every n-th request gets 429 and is not accepted.
    package var tooManyEvery: Int?

    package init() {}

    /// The response to the n-th request if a fault prevents its handling.
    func answer(_ number: Int) -> PushResponse? {
        if Self.isTurn(unavailableEvery, number) { return PushResponse(503, "ServiceUnavailable") }
        return Self.isTurn(tooManyEvery, number) ? PushResponse(429, "TooManyRequests") : nil
    }

    func resets(_ number: Int) -> Bool { Self.isTurn(resetEvery, number) }
    private static func isTurn(_ every: Int?, _ number: Int) -> Bool { every.map { number % $0 == 0 } ?? false }
}
