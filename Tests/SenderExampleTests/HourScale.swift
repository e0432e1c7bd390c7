import TestSupport

/// How large a played hour is.
struct HourScale: Sendable {
    var phones = TestScale.isLong ? 1000 : 60
    /// The hour's seconds in one of the machine's.
    var speed = TestScale.isLong ? 20.0 : 100
    var minutes = 60.0
    /// Every so many pushes that APNs took a connection breaks before the answer.
    var resetEvery = 97
    /// The time on the machine's clock that all phones have to show what they should at the end.
    var deadline = Duration.seconds(120)

    /// A quarter of an hour, for senders that break a rule.
    static let short = HourScale(phones: 30, speed: 30, minutes: 15, resetEvery: 13, deadline: .seconds(10))
}
