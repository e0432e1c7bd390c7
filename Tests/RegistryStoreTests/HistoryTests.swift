import Foundation
import PostgresDriver
import RegistryCore
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
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<3 {
                let calls = history.calls.indices.filter { $0 % 3 == worker }.map { history.calls[$0] }
                group.addTask {
                    var player = player
                    player.instance = worker
                    try await player.play(calls)
                }
            }
            try await group.waitForAll()
        }
        let model = ReferenceModel(history.calls, ranks: service.ranks)
        if let difference = try await player.view(isOfActivities: true).difference(from: model.view) {
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
                guard let first else {
                    first = state
                    continue
                }
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
