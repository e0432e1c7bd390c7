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
            let items = (0..<Int.random(in: 0...2, using: &generator)).map { _ in item(using: &generator) }
            let installation = Int.random(in: 0..<installations, using: &generator)
            return .fullState(installation: installation, observedAt: time, items: items)
        case 3, 4: return .death(token: Int.random(in: 0..<tokens, using: &generator), at: time)
        default:
            return .register(
                activity: activity,
                token: Int.random(in: 0..<tokens, using: &generator),
                observedAt: time,
                startedAt: Bool.random(using: &generator) ? nil : Int.random(in: -5..<time + 1, using: &generator),
                installation: Bool.random(using: &generator)
                    ? nil : Int.random(in: 0..<installations, using: &generator),
                alias: Bool.random(using: &generator) ? nil : Int.random(in: 0..<3, using: &generator)
            )
        }
    }

    private static func item(using generator: inout some RandomNumberGenerator) -> ClientRequest.Item {
        .init(
            activity: Int.random(in: 0..<activities, using: &generator),
            token: Bool.random(using: &generator) ? nil : Int.random(in: 0..<tokens, using: &generator)
        )
    }
}

/// SplitMix64: a small generator with a seed, so that a failing history can be played again.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
