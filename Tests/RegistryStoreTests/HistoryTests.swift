import Foundation
import PostgresDriver
import RegistryStore
import TestSupport
import Testing

/// R0: the state is a fold of the clients' requests, independent of their order and repetition.
@Suite(.timeLimit(.minutes(150))) struct HistoryTests {
    @Test func `Random histories agree with the model`() async throws {
        let count = TestScale.isLong ? 100_000 : 1_500
        let service = try await CallService()
        let first = SeededGenerator.firstSeed()
        print("figure: \(count) random histories from seed \(first)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= 16 { _ = try await group.next() }
                group.addTask { try await Self.compare(seed: first &+ UInt64(index), service) }
            }
            try await group.waitForAll()
        }
    }

    private static func compare(seed: UInt64, _ service: CallService) async throws {
        var generator = SeededGenerator(seed: seed)
        let history = RandomHistory(using: &generator)
        let player = try await CallPlayer(service)
        try await concurrently(0..<3) { worker in
            let calls = history.calls.indices.filter { $0 % 3 == worker }.map { history.calls[$0] }
            var player = player
            player.instance = worker
            try await player.play(calls)
        }
        var model = CallModel(ranks: service.ranks)
        for call in history.calls { _ = model.play(call) }
        let view = try await player.view(isOfActivities: true)
        if let difference = view.difference(from: model.view(isOfActivities: true)) {
            Issue.record("history \(seed): \(difference): \(history.calls)")
        }
        #expect(try await service.database.wronglyTrusted(in: player.scope) == 0, "history \(seed)")
    }

    /// Each order is played in its own app with equal ids, tokens and digests, so ties of times are broken equally.
    @Test func `Every order of a small set of requests leads to the same state`() async throws {
        let (service, start) = (try await CallService(), Date.minutesAgo(0))
        let first = SeededGenerator.firstSeed()
        let sets = (0..<UInt64(TestScale.isLong ? 60 : 20)).map { index in
            var generator = SeededGenerator(seed: first &+ index)
            return Array(RandomHistory(using: &generator).calls.prefix(5))
        }
        var (comparisons, differences) = (0, 0)
        for calls in sets {
            var first: [String]?
            for order in permutations(of: calls) {
                var player = try await CallPlayer(service, start: start)
                try await player.play(order)
                let state = try await state(in: player.scope, service.database.pool)
                guard let first else { first = state; continue }
                comparisons += 1
                guard state != first else { continue }
                differences += 1
                if differences <= 5 { Issue.record("\(order): \(state) is not \(first) of \(calls)") }
            }
        }
        let ties = sets.count { Set($0.map(\.ago)).count < $0.count }
        print(
            "figure: \(sets.count) small sets from seed \(first) in all orders, \(ties) with equal times: \(comparisons) states compared"
        )
        #expect(differences == 0)
        #expect(comparisons == sets.map { (1...$0.count).reduce(1, *) - 1 }.reduce(0, +))
        #expect(ties > 0)
    }

    private func state(in scope: Scope, _ pool: PostgresPool) async throws -> [String] {
        try await pool.withSession { session in
            try session.pipeline([
                """
                SELECT concat_ws('|', a.activity_id, a.token_digest, a.token_observed_at, a.last_observed_at, a.ended_at,
                    a.end_reason, a.aliases, a.aliases_observed_at,
                    -- Of an end that nothing else is known with, the time of receipt.
                    CASE WHEN a.last_observed_at IS NOT NULL THEN a.started_at END)
                FROM activities a WHERE a.scope_id = \(scope.id) ORDER BY 1
                """,
                """
                SELECT concat_ws('|', t.token_digest, t.activity_id, t.activity_key IS NULL, t.observed_at, t.dead_at) FROM token_values t
                WHERE t.scope_id = \(scope.id) ORDER BY 1
                """,
                """
                SELECT concat_ws('|', i.installation_hash, i.full_state_at) FROM installations i
                WHERE i.scope_id = \(scope.id) ORDER BY 1
                """,
                """
                SELECT concat_ws('|', al.kind, al.value, al.ended, a.activity_id)
                FROM activity_aliases al JOIN activities a USING (scope_id, activity_key)
                WHERE al.scope_id = \(scope.id) ORDER BY 1
                """,
            ]).flatMap { try $0.decode(String.self) }
        }
    }
}

func permutations<Element>(of elements: [Element]) -> [[Element]] {
    guard elements.count > 1 else { return [elements] }
    return elements.indices.flatMap { index in
        var rest = elements
        let first = rest.remove(at: index)
        return permutations(of: rest).map { [first] + $0 }
    }
}

/// Makes histories of few activities, tokens and installations, so that requests conflict.
///
/// All requests about an activity have equal installations and starts, if any, because the order of receipt decides
/// between different facts (R6).
struct RandomHistory {
    private static let (activities, tokens, installations) = (3, 4, 2)
    private static let lifetime = CallModel.lifetime / CallModel.minute

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
            call.startedAgo = start == 0 ? 60 + lifetime : start < 6 ? number(in: ago..<66) : nil
            call.startsIn = number(in: 0..<3) > 0 ? nil : starts[activity]
            call.installation = maybe(activity % installations)
            call.aliases = maybe(number(in: 0..<3)).map { [$0] }
            return call
        }
    }
}

/// R0 for installations: requests in any order and repetition lead to one state.
@Suite(.timeLimit(.minutes(15))) struct InstallationHistoryTests {
    private static func start(_ token: Int, _ minute: Int) -> Call {
        Call(rule: .putShared, token: token, ago: -minute, installation: 0)
    }

    private static func device(_ token: Int, _ minute: Int, of phone: Int = 0) -> Call {
        Call(rule: .putOwned, token: 6 + token, ago: -minute, slot: .device, installation: phone)
    }

    private static func delete(_ minute: Int, _ slot: Call.Slot = .delivery) -> Call {
        Call(rule: .delete, ago: -minute, slot: slot, installation: 0)
    }

    private static func put(_ alias: Int?, _ metadata: String?, _ minute: Int) -> Call {
        Call(rule: .profile, aliases: alias.map { [$0] }, ago: -minute, metadata: metadata, installation: 0)
    }

    private static func logOut(_ minute: Int) -> Call { Call(rule: .logOut, ago: -minute, installation: 0) }

    private static func activity(_ id: Int, _ token: Int, _ minute: Int) -> Call {
        Call(rule: .register, activity: id, token: 6 + token, ago: -minute, installation: 0)
    }

    private static let sets: [[Call]] = [
        [start(1, 1), start(2, 2), start(1, 3), delete(2)],
        [start(1, 1), start(2, 1), delete(1), start(2, 2)],
        [device(1, 1), device(1, 2, of: 1), device(1, 3), device(2, 4)],
        [device(1, 1), device(1, 1, of: 1), delete(2, .device), device(2, 3, of: 1)],
        [device(1, 2), logOut(1), start(2, 1), start(3, 2)],
        [put(0, nil, 1), put(1, "m", 2), logOut(2), put(nil, "n", 3)],
        [put(0, "m", 1), put(0, "n", 1), put(1, nil, 3), logOut(1)],
        [start(1, 1), logOut(2), start(1, 3), delete(1)],
        [activity(0, 1, 1), logOut(2), activity(0, 2, 3), activity(1, 3, 3)],
        [activity(0, 1, 1), device(1, 2), activity(0, 2, 3), logOut(1)],
    ]

    @Test func `Every order of the requests leads to the same state`() async throws {
        // The requests are made after this time, at minutes 1 to 4.
        let (service, start) = (try await CallService(), Date.minutesAgo(60))
        for (number, calls) in Self.sets.enumerated() {
            var states: Set<[String]> = []
            for order in permutations(of: calls) {
                var player = try await CallPlayer(service, start: start)
                // The first request is repeated at the end, like a retry.
                try await player.play(order + order.prefix(1))
                states.insert(try await service.database.column(Self.state(in: player.scope)))
            }
            #expect(states.count == 1, "set \(number): \(states)")
            #expect(states.first?.isEmpty == false)
        }
    }

    /// All state that affects later requests and senders, without times of receipt and numbers, which R0 does not cover.
    private static func state(in scope: Scope) -> SQL {
        """
        SELECT line FROM (
            SELECT concat_ws('|', c.kind, encode(c.token, 'hex'), c.attributes_type, c.installation_hash, c.observed_at)
            FROM deliverable_installation_tokens c WHERE c.scope_id = \(scope.id)
            UNION ALL
            SELECT concat_ws('|', 'installation', i.installation_hash, i.aliases, i.aliases_observed_at, i.metadata,
                i.metadata_observed_at, i.removed_at)
            FROM installations i WHERE i.scope_id = \(scope.id)
            UNION ALL
            SELECT concat_ws('|', 'row', r.installation_hash, r.token IS NOT NULL,
                r.token_digest = substr(sha256(r.token), 1, 15), r.observed_at, r.deleted_at)
            FROM installation_tokens r WHERE r.kind = 'start' AND r.scope_id = \(scope.id)
            UNION ALL
            SELECT concat_ws('|', 'alias', al.installation_hash, al.kind, al.value)
            FROM installation_aliases al WHERE al.scope_id = \(scope.id)
            UNION ALL
            SELECT concat_ws('|', 'activity', c.activity_id, encode(c.token, 'hex'))
            FROM deliverable_activities c WHERE c.scope_id = \(scope.id)
        ) AS lines (line) ORDER BY line
        """
    }
}
