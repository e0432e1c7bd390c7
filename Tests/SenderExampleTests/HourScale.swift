import TestSupport

/// How large a played hour is.
struct HourScale: Sendable {
    var phones = TestScale.isLong ? 1000 : 60
    /// The hour's seconds in one of the machine's.
    var speed = TestScale.isLong ? 20.0 : 100
    var minutes = 60.0
    /// Every so many pushes that APNs took a connection breaks before the answer.
    var resetEvery: Int? = 97
    /// After so many requests APNs takes no more on a connection.
    var goAwayAfter: Int? = 150
    /// The time on the machine's clock that all phones have to show what they should at the end.
    var deadline = Duration.seconds(120)

    /// A quarter of an hour, for senders that break a rule.
    static let short = HourScale(phones: 30, speed: 30, minutes: 15, resetEvery: 13, deadline: .seconds(10))

    /// The same on connections that stay, so that every answer surely comes.
    static let shortAndSure = HourScale(
        phones: 30,
        speed: 30,
        minutes: 15,
        resetEvery: nil,
        goAwayAfter: nil,
        deadline: .seconds(10)
    )
}
