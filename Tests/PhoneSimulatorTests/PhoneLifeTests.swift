import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport
import TestSupport
import Testing

/// The real client on a simulated phone, with the real service on Postgres.
///
/// A failed life prints its seed and history. `PUSHREG_PHONE_SEED=17` plays only life 17, and
/// `PUSHREG_PHONE_SEED=1000-1299` plays those lives instead of the first ones.
@Suite(.timeLimit(.minutes(60))) struct PhoneLifeTests {
    private static let count = UInt64(TestScale.isLong ? 10_000 : 150)
    private static let seeds: ClosedRange<UInt64> = {
        let said = ProcessInfo.processInfo.environment["PUSHREG_PHONE_SEED"] ?? ""
        let ends = said.split(separator: "-").compactMap { UInt64($0) }
        guard let first = ends.first, let last = ends.last, first <= last else { return 1...count }
        return first...last
    }()

    @Test func `After random lives, senders see the activities and tokens of the phone`() async throws {
        let requests = LockedValue(0)
        try await SimulatedService.run { service in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, seed) in Self.seeds.enumerated() {
                    if index >= 4 { try await group.next() }
                    group.addTask {
                        let life = try await Self.play(seed, on: service)
                        requests.withLock { $0 += life.network.delivered.count }
                    }
                }
                try await group.waitForAll()
            }
        }
        print("figure: phone simulator: \(Self.seeds.count) lives, \(requests.withLock { $0 }) requests")
    }

    private static func play(_ seed: UInt64, on service: SimulatedService) async throws -> PhoneLife {
        var generator = SeededGenerator(seed: seed)
        let life = PhoneLife("l\(seed)", on: service, seed: seed)
        for _ in 0..<Int.random(in: 15...50, using: &generator) { await life.play(.draw(&generator)) }
        let faults = try await life.endFaults(repeatsAll: seed.isMultiple(of: 4))
        if !faults.isEmpty {
            Issue.record("life \(seed): \(faults.joined(separator: "; "))\n\(life.network.diary.text)")
        }
        return life
    }
}

/// The app dies at each write of its file: before, during or after it. The next launch repairs everything.
@Suite(.timeLimit(.minutes(20))) struct WriteCrashTests {
    private typealias Crash = (moment: ProcessEnd.Moment, write: Int)

    private static let activities: [Step] = [
        .activityBegins(reusesOrder: false), .tokenRotates(0, .streamed), .startToken(type: 0, isSilent: false),
        .network(.offline), .tokenRotates(0, .streamed), .activityBegins(reusesOrder: false),
        .tokenRotates(1, .streamed), .network(.online), .time(seconds: 3), .activityEnds(0), .network(.deaf),
        .userSwipes(0), .network(.online),
        .clock(ahead: 3600), .activityBegins(reusesOrder: false), .tokenRotates(0, .streamed), .time(seconds: 60),
    ]

    /// Steps with effects that only the file contains.
    private static let users: [Step] = [
        .activityBegins(reusesOrder: false), .tokenRotates(0, .streamed), .widgetToken(isRemoved: false),
        .network(.offline),
        .signIn(1), .deviceToken, .widgetToken(isRemoved: true), .network(.online), .time(seconds: 3), .network(.deaf),
        .signOut, .time(seconds: 3), .signIn(2), .network(.online), .time(seconds: 60),
    ]

    @Test(arguments: [ProcessEnd.Moment.beforeWrite, .afterWrite], [activities, users])
    func `A crash before or after a write loses no report`(_ moment: ProcessEnd.Moment, _ steps: [Step]) async throws {
        try await Self.crashes(at: moment, in: steps)
    }

    @Test func `A partial file is set aside, and all activities and tokens are reported again`() async throws {
        try await Self.crashes(at: .duringWrite, in: Self.activities)
    }

    private static func crashes(at moment: ProcessEnd.Moment, in steps: [Step]) async throws {
        try await SimulatedService.run { service in
            let writes = try await play(steps, nil, on: service)
            #expect(writes > 15)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for write in 1...writes {
                    if write > 4 { try await group.next() }
                    group.addTask { _ = try await play(steps, (moment, write), on: service) }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Plays all steps and relaunches a dead app before the next one.
    ///
    /// - Returns: the number of writes of the first app.
    private static func play(_ steps: [Step], _ crash: Crash?, on service: SimulatedService) async throws -> Int {
        let life = PhoneLife("\(crash?.moment, default: "whole")-\(crash?.write ?? 0)", on: service)
        await life.play(.launch(listIsLate: false))
        guard let first = await life.phone.app else { return 0 }
        if let crash { first.end.comes(at: crash.moment, write: crash.write) }
        for step in [.signIn(0)] + steps {
            if await life.phone.app == nil { await life.play(.launch(listIsLate: false)) }
            await life.play(step)
        }
        let faults = try await life.endFaults()
        if !faults.isEmpty {
            Issue.record("write \(crash?.write ?? 0): \(faults.joined(separator: "; "))\n\(life.network.diary.text)")
        }
        return first.end.writes
    }
}

struct Comparison {
    let life: PhoneLife
    let phone: SimulatedPhone
    let sender: SenderView

    init(_ life: PhoneLife) async {
        self.life = life
        phone = await life.phone
        sender = life.service.sender
    }

    /// All differences, in words without tokens.
    func faults() async throws -> [String] {
        let waiting = await life.waiting()
        var faults = life.network.violations
        if !waiting.isEmpty { faults.append("reports wait: \(waiting)") }
        faults += try await activityFaults()
        for user in await life.users { faults += try await tokenFaults(of: user) }
        for id in life.network.ended.sorted() {
            if try await sender.text("token", ofActivity: id) != nil { faults.append("\(id) ended, and is handed out") }
        }
        return faults
    }

    private func activityFaults() async throws -> [String] {
        let (orders, signedOut, abandoned) = await (life.orders, life.signedOut, life.abandoned)
        let handed = try await sender.activities(under: orders).filter { !abandoned.contains($0.token) }
        let running = phone.types.flatMap(\.all).filter { $0.phase.runs && $0.token != nil }
        let shown = Dictionary(running.map { ($0.id, PushToken($0.token ?? Data()).hexadecimal) }) { $1 }
        var faults: [String] = []
        for item in handed {
            let id = item.activityID ?? ""
            if shown[id] == nil { faults.append("\(id) is handed out, and does not run") }
            if let token = shown[id], token != item.token { faults.append("\(id) is handed out with another token") }
        }
        if Set(handed.map(\.activityID)).count < handed.count { faults.append("an activity is handed out twice") }
        let ids = Set(handed.compactMap(\.activityID))
        for id in shown.keys.sorted() where !ids.contains(id) && !signedOut.contains(id) {
            let state = try await sender.text("state", ofActivity: id)
            faults.append("\(id) runs, and is not handed out: \(state ?? "unknown")")
        }
        return faults
    }

    private func tokenFaults(of user: String) async throws -> [String] {
        let isHere = await phone.user == user
        let start = phone.types.compactMap { type in type.startToken().map { (type.name, PushToken($0).hexadecimal) } }
        let isOn = phone.system.areActivitiesEnabled
        let expected: [(String, Set<String>)] = [
            ("start-tokens", isOn ? Set(start.map { "\($0.0) \($0.1)" }) : []),
            ("device-tokens", Set(await phone.deviceToken.map { [Self.own($0.utf8)] } ?? [])),
            ("tokens/widget", Set(await phone.system.widgetToken().map { [Self.own($0)] } ?? [])),
        ]
        var faults: [String] = []
        for (list, tokens) in expected {
            let handed = try await sender.tokens(list, ofUser: user)
            let abandoned = await life.abandoned
            let found = Set(handed.filter { !abandoned.contains($0.token) }.map(Self.text))
            let right = isHere ? tokens : []
            guard found != right else { continue }
            faults.append(
                "\(user)'s \(list): \(found.count) found, \(right.count) on the phone, \(found.subtracting(right).count) wrong"
            )
        }
        return faults
    }

    private static func own(_ token: some Sequence<UInt8>) -> String { " \(PushToken(token).hexadecimal)" }
    private static func text(_ handed: SenderView.Handed) -> String { "\(handed.attributesType ?? "") \(handed.token)" }
}
