extension CallHistory {
    private static func phone(_ rule: Call.Rule, by user: Int?, ago: Int?, _ aliases: [Int]? = nil) -> Call {
        Call(rule: rule, aliases: aliases, ago: ago, isClient: true, user: user, installation: 0)
    }

    private static func device(ago: Int?) -> Call {
        Call(rule: .putOwned, token: 7, ago: ago, slot: .device, isClient: true, installation: 0)
    }

    /// Histories of earlier faults, and of races that clients have. Every run replays them.
    static let corpus: [[Call]] = [
        // The end arrives before its registration.
        [Call(rule: .end, ago: 1), Call(rule: .register, token: 0, ago: 2)],
        // APNs reports a death at the time of the claim.
        [
            Call(rule: .register, token: 0, aliases: [0], ago: 2),
            Call(rule: .feedback, parts: [Call(rule: .report, token: 0, ago: 2, status: .dead)]),
            Call(rule: .register, token: 0, ago: 2), Call(rule: .register, token: 0, ago: 1),
        ],
        // A user takes over a phone; the former user's late profile arrives after that.
        [
            phone(.profile, by: 0, ago: 3, [2]),
            Call(rule: .putShared, token: 5, isClient: true, user: 0, installation: 0),
            phone(.profile, by: 1, ago: 1, [0]), phone(.profile, by: 0, ago: 2, [2]),
            Call(rule: .plan, lease: 0), Call(rule: .plan, lease: 1),
        ],
        // The late profile of another user removes the owner's older aliases.
        [phone(.profile, by: 0, ago: 3, [0]), phone(.profile, by: 0, ago: 1), phone(.profile, by: 1, ago: 2)],
        // A full state said that it dismissed an activity that a log-out had ended.
        [
            phone(.logOut, by: 1, ago: 3),
            Call(rule: .register, activity: 3, token: 0, aliases: [0], startedAgo: 460, installation: 0),
            Call(rule: .fullState, ago: -3, installation: 0, parts: [Call(rule: .item, activity: 2)]),
        ],
        // A log-out of a fast clock, and an activity that started before it but became known later.
        [
            device(ago: -3), phone(.logOut, by: nil, ago: nil), device(ago: nil),
            Call(rule: .register, activity: 1, token: 1, isClient: true, installation: 0),
        ],
        // A token came back after the data of its later owner was erased.
        [
            device(ago: nil),
            Call(rule: .putOwned, token: 7, slot: .device, isClient: true, user: 1, installation: 1),
            Call(rule: .erase, user: 1), device(ago: nil),
        ],
        // A burst of reports about good tokens trips the guard, which turns off after a quiet time.
        (0..<4).map { Call(rule: .register, activity: $0, token: $0) } + [
            Call(rule: .feedback, parts: (0..<4).map { Call(rule: .report, token: $0, status: .suspect) }),
            Call(rule: .pass, minutes: 15),
            Call(rule: .feedback, parts: [Call(rule: .report, token: 0, status: .suspect)]),
        ],
    ]
}
