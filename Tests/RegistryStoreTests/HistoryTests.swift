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
        let database = try await TestDatabase.make(maximumConnections: 8)
        let registries = [database.registry, database.anotherRegistry()]
        let scope = try await database.scope()
        let start = Date.minutesAgo(60)
        let first = SeededGenerator.firstSeed()
        print("figure: \(count) random histories from seed \(first)")
        var differences = 0
        try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<count {
                if index >= 16 { differences += try await group.next() ?? 0 }
                let seed = first &+ UInt64(index)
                group.addTask {
                    try await Self.compare(seed: seed, scope: scope, start: start, registries, database)
                }
            }
            for try await found in group { differences += found }
        }
        #expect(differences == 0)
        #expect(try await database.wronglyTrusted() == 0)
    }

    private static func compare(
        seed: UInt64,
        scope: Scope,
        start: Date,
        _ registries: [Registry],
        _ database: TestDatabase
    ) async throws -> Int {
        var generator = SeededGenerator(seed: seed)
        let history = RandomHistory(using: &generator)
        let player = HistoryPlayer(scope: scope, name: "h\(seed)", start: start)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<3 {
                let requests = history.requests.indices.filter { $0 % 3 == worker }.map { history.requests[$0] }
                group.addTask {
                    for request in requests { try await player.play(request, on: registries[worker % 2]) }
                }
            }
            try await group.waitForAll()
        }
        let digests = try await digests(player, database)
        let model = ReferenceModel(history.requests) { digests[$0] }
        var found = 0
        for activity in 0..<RandomHistory.activities {
            let expected = model.view(activity).map(Self.visible)
            let actual = try await player.view(activity, tokens: 0..<RandomHistory.tokens, on: registries[0])
            guard expected != actual else { continue }
            found += 1
            let difference = "\(String(describing: actual)) is not \(String(describing: expected))"
            Issue.record("history \(seed), activity \(activity): \(difference): \(history.requests)")
        }
        return found
    }

    /// An alias is visible only while its activity's token is deliverable.
    private static func visible(_ view: ReferenceModel.View) -> ReferenceModel.View {
        ReferenceModel.View(
            state: view.state,
            token: view.token,
            startedAt: view.startedAt,
            startsAt: view.startsAt,
            endedAt: view.endedAt,
            alias: view.token == nil ? nil : view.alias
        )
    }

    private static func digests(_ player: HistoryPlayer, _ database: TestDatabase) async throws -> [[UInt8]] {
        let tokens = (0..<RandomHistory.tokens).map { player.token($0).bytes }
        let sql: SQL = "SELECT sha256(t) FROM unnest(\(tokens)) WITH ORDINALITY AS q (t, position) ORDER BY position"
        return try await database.column(sql, as: [UInt8].self)
    }

    /// Each order is played in its own app with equal ids, tokens and digests, so ties of times are broken equally.
    @Test func `Every order of a small set of requests leads to the same state`() async throws {
        let database = try await TestDatabase.make()
        let start = Date.minutesAgo(60)
        let first = SeededGenerator.firstSeed()
        let sets = (0..<UInt64(TestScale.isLong ? 60 : 20)).map { index in
            var generator = SeededGenerator(seed: first &+ index)
            return Array(RandomHistory(using: &generator).requests.prefix(5))
        }
        var (comparisons, differences) = (0, 0)
        for (number, requests) in sets.enumerated() {
            var first: [String]?
            for (index, order) in permutations(of: requests).enumerated() {
                let scope = try await database.scope("com.example.p\(number)-\(index)")
                let player = HistoryPlayer(scope: scope, name: "p", start: start)
                for request in order { try await player.play(request, on: database.registry) }
                let state = try await state(in: scope, database.pool)
                guard let first else {
                    first = state
                    continue
                }
                comparisons += 1
                guard state != first else { continue }
                differences += 1
                if differences <= 5 { Issue.record("\(order): \(state) is not \(first) of \(requests)") }
            }
        }
        let ties = sets.count { Set($0.map(\.time)).count < $0.count }
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

extension ClientRequest {
    fileprivate var time: Int {
        switch self {
        case .register(let request): request.observedAt
        case .end(_, let time), .fullState(_, let time, _), .death(_, let time): time
        }
    }
}
