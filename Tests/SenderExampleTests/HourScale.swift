import TestSupport

struct HourScale: Sendable {
    var phones = TestScale.isLong ? 1000 : 60
    /// Simulated seconds per real second.
    var speed = TestScale.isLong ? 20.0 : 100
    var minutes = 60.0
    /// A connection breaks before the response after this number of accepted pushes.
    var resetEvery: Int? = 97
    /// APNs closes a connection after this number of requests.
    var goAwayAfter: Int? = 150
    /// Real time for all phones to reach their final state.
    var deadline = Duration.seconds(120)

    /// Whether every response arrives.
    var isStable: Bool { resetEvery == nil && goAwayAfter == nil }

    /// A quarter of an hour, for the tests of senders that break a rule.
    static let short = HourScale(phones: 30, speed: 30, minutes: 15, resetEvery: 13, deadline: .seconds(10))

    /// Like `short`, with so many lost responses that some are of starts, which are a tenth of the pushes.
    static let shortAndUnsure = HourScale(phones: 30, speed: 30, minutes: 15, resetEvery: 4, deadline: .seconds(10))

    /// Like `short`, with stable connections.
    static let shortAndSure = HourScale(
        phones: 30,
        speed: 30,
        minutes: 15,
        resetEvery: nil,
        goAwayAfter: nil,
        deadline: .seconds(10)
    )
}
