import PushTokenRegistryTestSupport
import Testing

@testable import PushTokenRegistry

/// C9, R0: the reports that the outbox omits do not change the sender's view.
@Suite(.timeLimit(.minutes(1))) struct CoalescingHistoryTests {
    /// SplitMix64: random numbers that a seed repeats.
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }

    /// An activity that started before it was observed.
    private static func activity(_ number: Int, _ token: Int?) -> ActivityRegistration {
        let bytes = token.map { PushToken([UInt8(number), UInt8($0 & 255)]) }
        var activity = ActivityRegistration(activityID: "a-\(number)", token: bytes)
        activity.startedAt = .at(Double(number * 10))
        return activity
    }

    private static func report(at time: Int, _ random: inout Seeded) -> Report {
        let number = Int.random(in: 0...min(4, time / 10), using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: return .registration(activity(number, time))
        case 8..<10: return .end(activityID: "a-\(number)", isDismissal: false)
        case 10..<13:
            return .startToken(
                attributesType: "T\(number % 2)",
                Bool.random(using: &random) ? PushToken([UInt8(time)]) : nil
            )
        case 13..<15:
            return .installationToken(
                InstallationTokenKind.allCases.randomElement(using: &random) ?? .device,
                Bool.random(using: &random) ? PushToken([UInt8(time)]) : nil
            )
        case 15..<19:
            let listed = (0...min(4, time / 10)).filter { _ in Bool.random(using: &random) }
            return .fullState(listed.map { activity($0, nil) })
        default: return .logOut
        }
    }

    @Test func `In 2000 random lives, the outbox's reports give senders the same view as all reports`() {
        for seed in 0..<2000 as Range<UInt64> {
            var random = Seeded(state: seed)
            var outbox = Outbox()
            var all: [OutboxEntry] = []
            for time in 0..<Int.random(in: 1...60, using: &random) {
                let report = Self.report(at: time, &random)
                let observedAt = Timestamp.at(Double(time))
                let id = random.next()
                all.append(OutboxEntry(id: id, report: report, observedAt: observedAt, owner: .installation))
                _ = outbox.add(report, observedAt: observedAt, owner: .installation, id: id)
            }
            #expect(SenderView(outbox.entries) == SenderView(all), "seed \(seed)")
            #expect(Set(outbox.entries.map(\.subject)).count == outbox.entries.count)
        }
    }
}
