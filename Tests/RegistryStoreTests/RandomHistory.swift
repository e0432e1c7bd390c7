/// Makes histories of few activities, tokens and installations, so that requests meet.
struct RandomHistory {
    static let activities = 3
    static let tokens = 4
    static let installations = 2

    /// Doubled, delayed and reordered requests.
    let requests: [ClientRequest]

    init(using generator: inout some RandomNumberGenerator) {
        var requests = (0..<Int.random(in: 3...10, using: &generator)).map { _ in Self.request(using: &generator) }
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            requests.append(requests.randomElement(using: &generator)!)
        }
        self.requests = requests.shuffled(using: &generator)
    }

    private static func request(using generator: inout some RandomNumberGenerator) -> ClientRequest {
        let activity = Int.random(in: 0..<activities, using: &generator)
        let time = Int.random(in: 0..<12, using: &generator)
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: return .end(activity: activity, observedAt: time)
        case 1, 2:
            let items = (0..<Int.random(in: 0...4, using: &generator)).map { _ in item(using: &generator) }
            let installation = Int.random(in: 0..<installations, using: &generator)
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
                        ? nil : Int.random(in: time - 2..<time + 100, using: &generator),
                    installation: Bool.random(using: &generator)
                        ? nil : Int.random(in: 0..<installations, using: &generator),
                    alias: Bool.random(using: &generator) ? nil : Int.random(in: 0..<3, using: &generator)
                )
            )
        }
    }

    /// Mostly of the last minutes, sometimes longer ago than an activity lives.
    private static func startedAt(_ time: Int, using generator: inout some RandomNumberGenerator) -> Int? {
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: -ReferenceModel.lifetime
        case 1..<6: Int.random(in: -5..<time + 1, using: &generator)
        default: nil
        }
    }

    private static func item(using generator: inout some RandomNumberGenerator) -> ClientRequest.Item {
        .init(
            activity: Int.random(in: 0..<activities, using: &generator),
            token: Bool.random(using: &generator) ? nil : Int.random(in: 0..<tokens, using: &generator)
        )
    }
}
