/// Makes histories of few activities, tokens and installations, so that requests conflict.
///
/// All requests about an activity have equal installations and starts, if any, because the order of receipt decides
/// between different facts (R6).
struct RandomHistory {
    static let activities = 3
    static let tokens = 4
    static let installations = 2

    /// Repeated, delayed and reordered requests.
    let requests: [ClientRequest]

    init(using generator: inout some RandomNumberGenerator) {
        let starts = (0..<Self.activities).map { _ in Int.random(in: -2..<110, using: &generator) }
        var requests = (0..<Int.random(in: 3...10, using: &generator)).map { _ in
            Self.request(starts, using: &generator)
        }
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            requests.append(requests.randomElement(using: &generator)!)
        }
        self.requests = requests.shuffled(using: &generator)
    }

    private static func request(_ starts: [Int], using generator: inout some RandomNumberGenerator) -> ClientRequest {
        let activity = Int.random(in: 0..<activities, using: &generator)
        let time = Int.random(in: 0..<12, using: &generator)
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: return .end(activity: activity, observedAt: time)
        case 1, 2:
            let installation = Int.random(in: 0..<installations, using: &generator)
            let items = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                item(of: installation, using: &generator)
            }
            return .fullState(installation: installation, observedAt: time, items: items)
        case 3, 4: return .death(token: Int.random(in: 0..<tokens, using: &generator), at: time)
        default:
            return .register(
                .init(
                    activity: activity,
                    token: Int.random(in: 0..<tokens, using: &generator),
                    observedAt: time,
                    startedAt: startedAt(time, using: &generator),
                    startsAt: Int.random(in: 0..<3, using: &generator) > 0
                        ? nil : starts[activity],
                    installation: Bool.random(using: &generator) ? nil : activity % installations,
                    alias: Bool.random(using: &generator) ? nil : Int.random(in: 0..<3, using: &generator)
                )
            )
        }
    }

    /// Usually within the last minutes, sometimes longer ago than an activity's lifetime.
    private static func startedAt(_ time: Int, using generator: inout some RandomNumberGenerator) -> Int? {
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: -ReferenceModel.lifetime
        case 1..<6: Int.random(in: -5..<time + 1, using: &generator)
        default: nil
        }
    }

    private static func item(
        of installation: Int,
        using generator: inout some RandomNumberGenerator
    ) -> ClientRequest.Item {
        .init(
            activity: (0..<activities).filter { $0 % installations == installation }.randomElement(using: &generator)!,
            token: Bool.random(using: &generator) ? nil : Int.random(in: 0..<tokens, using: &generator)
        )
    }
}
