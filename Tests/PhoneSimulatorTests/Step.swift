import TestSupport

enum Step: Sendable, Hashable {
    // Activities. A number selects one of the suitable activities.
    case activityBegins(reusesOrder: Bool)
    case activityIsScheduled
    case scheduledOneStarts(Int)
    case tokenRotates(Int, Rotation)
    case activityEnds(Int)
    case userSwipes(Int)
    case endedOneSpeaks(Int)
    case endedOnesLeaveTheList
    case activityGoesStale(Int)

    // Other tokens.
    case startToken(type: Int, isSilent: Bool)
    case deviceToken
    case widgetToken(isRemoved: Bool)
    case activitiesAreSwitched(on: Bool)

    // Processes.
    case launch(listIsLate: Bool)
    case kill
    case killAtWrite(ProcessEnd.Moment, Int)
    case foreground
    case background
    case restart
    case prewarm
    case unlock
    case newPhoneFromBackup

    // The network.
    case network(SimulatedNetwork.Mode)
    case lateOnesArrive(Int)
    case handedOverOnesGo(Int)
    case someArriveAgain(Int)

    // Time and users.
    case time(seconds: Double)
    case clock(ahead: Double)
    case signIn(Int)
    case signOut
    case session(SimulatedPhone.Session)

    enum Rotation: Sendable, CaseIterable { case streamed, silent }
}

extension Step {
    /// A random step. Common steps have a greater weight.
    static func draw(_ generator: inout SeededGenerator) -> Step {
        var ticket = Int.random(in: 0..<Self.tickets, using: &generator)
        for (weight, make) in table {
            if ticket < weight { return make(&generator) }
            ticket -= weight
        }
        return .foreground
    }

    private static let tickets = table.reduce(0) { $0 + $1.0 }

    private typealias Maker = @Sendable (inout SeededGenerator) -> Step

    private static let table: [(Int, Maker)] = [
        (12, { .activityBegins(reusesOrder: .random(percent: 15, &$0)) }),
        (2, { _ in .activityIsScheduled }),
        (3, { .scheduledOneStarts(.any(&$0)) }),
        (12, { .tokenRotates(.any(&$0), .random(percent: 75, &$0) ? .streamed : .silent) }),
        (5, { .activityEnds(.any(&$0)) }),
        (5, { .userSwipes(.any(&$0)) }),
        (2, { .endedOneSpeaks(.any(&$0)) }),
        (2, { _ in .endedOnesLeaveTheList }),
        (1, { .activityGoesStale(.any(&$0)) }),
        (4, { .startToken(type: .any(&$0) % 2, isSilent: .random(percent: 40, &$0)) }),
        (2, { _ in .deviceToken }),
        (2, { .widgetToken(isRemoved: .random(percent: 30, &$0)) }),
        (2, { .activitiesAreSwitched(on: .random(percent: 60, &$0)) }),
        (14, { .launch(listIsLate: .random(percent: 30, &$0)) }),
        (5, { _ in .kill }),
        (3, { .killAtWrite(.random(percent: 50, &$0) ? .beforeWrite : .afterWrite, 1 + .any(&$0) % 4) }),
        (6, { _ in .foreground }),
        (6, { _ in .background }),
        (2, { _ in .restart }),
        (3, { _ in .prewarm }),
        (6, { _ in .unlock }),
        (1, { _ in .newPhoneFromBackup }),
        (12, { .network(.random(&$0)) }),
        (4, { _ in .network(.online) }),
        (5, { .handedOverOnesGo(1 + .any(&$0) % 5) }),
        (3, { .lateOnesArrive(1 + .any(&$0) % 3) }),
        (3, { .someArriveAgain(1 + .any(&$0) % 3) }),
        (10, { .time(seconds: [0.1, 1, 3, 20, 61, 400, 4000].randomElement(using: &$0) ?? 1) }),
        (1, { _ in .time(seconds: 25 * 3600) }),
        (3, { .clock(ahead: [0, 0, -30, 40, 3600, -3600, 200_000, -50_000].randomElement(using: &$0) ?? 0) }),
        (4, { .signIn(.any(&$0) % 3) }),
        (2, { _ in .signOut }),
        (2, { .session([.valid, .expired, .none].randomElement(using: &$0) ?? .valid) }),
    ]
}

extension Bool {
    static func random(percent: Int, _ generator: inout SeededGenerator) -> Bool {
        Int.random(in: 0..<100, using: &generator) < percent
    }
}

extension Int {
    static func any(_ generator: inout SeededGenerator) -> Int { .random(in: 0..<1000, using: &generator) }
}

extension SimulatedNetwork.Mode {
    static func random(_ generator: inout SeededGenerator) -> Self {
        allCases.randomElement(using: &generator) ?? .online
    }
}
