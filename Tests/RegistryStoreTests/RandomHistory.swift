/// Makes histories of few activities, tokens and installations, so that requests conflict.
///
/// All requests about an activity have equal installations and starts, if any, because the order of receipt decides
/// between different facts (R6).
struct RandomHistory {
    private static let (activities, tokens, installations) = (3, 4, 2)

    /// Repeated, delayed and reordered calls, 49 to 60 minutes ago.
    let calls: [Call]

    init(using generator: inout some RandomNumberGenerator) {
        let starts = (0..<Self.activities).map { _ in Int.random(in: -62..<50, using: &generator) }
        var calls = (0..<Int.random(in: 3...10, using: &generator)).map { _ in Self.call(starts, using: &generator) }
        for _ in 0..<Int.random(in: 0...3, using: &generator) { calls.append(calls.randomElement(using: &generator)!) }
        self.calls = calls.shuffled(using: &generator)
    }

    private static func call(_ starts: [Int], using generator: inout some RandomNumberGenerator) -> Call {
        func number(in range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
        func maybe(_ value: @autoclosure () -> Int) -> Int? { Bool.random(using: &generator) ? nil : value() }
        let (activity, ago) = (number(in: 0..<activities), 60 - number(in: 0..<12))
        switch number(in: 0..<12) {
        case 0: return Call(rule: .end, activity: activity, ago: ago)
        case 1, 2:
            let installation = number(in: 0..<installations)
            let items = (0..<number(in: 0..<5)).map { _ in
                let own = (0..<activities).filter { $0 % installations == installation }
                return Call(rule: .item, activity: own[number(in: 0..<own.count)], token: maybe(number(in: 0..<tokens)))
            }
            return Call(rule: .fullState, ago: ago, installation: installation, parts: items)
        case 3, 4:
            let report = Call(rule: .report, token: number(in: 0..<tokens), ago: ago, status: .dead)
            return Call(rule: .feedback, parts: [report])
        default:
            var call = Call(rule: .register, activity: activity, token: number(in: 0..<tokens), ago: ago)
            // Usually within the last minutes, sometimes longer ago than an activity's lifetime.
            let start = number(in: 0..<12)
            call.startedAgo = start == 0 ? 60 + ReferenceModel.lifetime : start < 6 ? number(in: ago..<66) : nil
            call.startsIn = number(in: 0..<3) > 0 ? nil : starts[activity]
            call.installation = maybe(activity % installations)
            call.aliases = maybe(number(in: 0..<3)).map { [$0] }
            return call
        }
    }
}
