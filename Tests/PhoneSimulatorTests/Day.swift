/// A day with counted costs: the app is launched once and stays in memory for 24 hours.
///
/// A user is signed in by JWT, the app has a device token, and one of its two attributes types has a start token.
/// Tokens have the length of real ones.
enum Day: String, Sendable, CaseIterable {
    case idle = "nothing happens"
    case opened = "the app is opened ten times"
    case delivery = "one delivery: a start by push, six rotations, a swipe"
    case wrongClock = "the same, by a clock that is an hour ahead since a restart"
    case offline = "the same, within 6 hours offline"
    case storm = "1,000 rotations of a token within an hour"

    /// A push starts an activity, so the start token changes.
    var isDelivery: Bool { [.delivery, .wrongClock, .offline].contains(self) }

    /// The limits of the day's costs. Only the pauses of a phone without responses are random.
    var limits: DayLimits {
        switch self {
        case .idle: DayLimits(requests: 5...5, wakeUps: 3...3, writes: 10...10, kilobytes: 4.2)
        case .opened: DayLimits(requests: 15...15, wakeUps: 3...3, writes: 30...30, kilobytes: 11.7)
        case .delivery: DayLimits(requests: 13...13, wakeUps: 3...3, writes: 26...26, kilobytes: 12.0)
        case .wrongClock: DayLimits(requests: 14...14, wakeUps: 3...3, writes: 27...27, kilobytes: 12.8)
        case .offline: DayLimits(requests: 80...130, wakeUps: 70...120, writes: 160...260, kilobytes: 110)
        case .storm: DayLimits(requests: 1006...1006, wakeUps: 3...3, writes: 2012...2012, kilobytes: 940)
        }
    }
}

struct DayLimits: Sendable {
    let requests: ClosedRange<Int>
    let wakeUps: ClosedRange<Int>
    let writes: ClosedRange<Int>
    /// At most, in thousands of bytes.
    let kilobytes: Double

    func row(of day: Day) -> String {
        let cells = [day.rawValue, Self.text(requests), "\(kilobytes)", Self.text(wakeUps), Self.text(writes)]
        return "| \(cells.joined(separator: " | ")) |"
    }

    private static func text(_ range: ClosedRange<Int>) -> String {
        range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
    }
}
