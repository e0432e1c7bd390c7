import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R0: the state is a plain fold of what clients said, in whatever order and however often it comes.
@Suite struct HistoryTests {
    /// Random histories of rotations, takeovers, full states, ends and late or early 410s, on several connections of
    /// two instances at once, against the reference model.
    @Test(.timeLimit(.minutes(150)))
    func randomHistoriesAgreeWithTheModel() async throws {
        let count = TestScale.isLong ? 100_000 : 1_500
        let database = try await TestDatabase.make(maximumConnections: 8)
        let registries = [database.registry, database.anotherRegistry()]
        let scope = try await database.scope()
        let start = Date.minutesAgo(60)
        var differences = 0
        try await withThrowingTaskGroup(of: Int.self) { group in
            for seed in 0..<count {
                if seed >= 16 { differences += try await group.next() ?? 0 }
                group.addTask {
                    try await Self.compare(seed: UInt64(seed), scope: scope, start: start, registries, database.pool)
                }
            }
            for try await found in group { differences += found }
        }
        #expect(differences == 0)
        #expect(try await database.wronglyTrusted() == 0)
    }

    /// Plays one history from several tasks at once; tells how many activities differ from the model.
    private static func compare(
        seed: UInt64,
        scope: Scope,
        start: Date,
        _ registries: [Registry],
        _ pool: PostgresPool
    ) async throws -> Int {
        var generator = SeededGenerator(seed: seed)
        let history = RandomHistory(using: &generator)
        let player = HistoryPlayer(scope: scope, name: "h\(seed)", start: start)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<3 {
                let requests = history.requests.indices.filter { $0 % 3 == lane }.map { history.requests[$0] }
                group.addTask {
                    for request in requests { try await player.play(request, on: registries[lane % 2]) }
                }
            }
            try await group.waitForAll()
        }
        return try await differences(player, history, registries[0], pool, seed)
    }

    private static func differences(
        _ player: HistoryPlayer,
        _ history: RandomHistory,
        _ registry: Registry,
        _ pool: PostgresPool,
        _ seed: UInt64
    ) async throws -> Int {
        let digests = try await digests(player, pool)
        let model = ReferenceModel(history.requests) { digests[$0] }
        var found = 0
        for activity in 0..<RandomHistory.activities {
            let expected = model.view(activity).map(Self.visible)
            let actual = try await player.view(activity, tokens: 0..<RandomHistory.tokens, on: registry)
            guard expected != actual else { continue }
            found += 1
            Issue.record(
                "history \(seed), activity \(activity): \(String(describing: actual)) is not \(String(describing: expected)): \(history.requests)"
            )
        }
        return found
    }

    /// An alias can be seen only while its activity's token is handed out.
    private static func visible(_ view: ReferenceModel.View) -> ReferenceModel.View {
        ReferenceModel.View(
            state: view.state,
            token: view.token,
            startedAt: view.startedAt,
            endedAt: view.endedAt,
            alias: view.token == nil ? nil : view.alias
        )
    }

    private static func digests(_ player: HistoryPlayer, _ pool: PostgresPool) async throws -> [[UInt8]] {
        let tokens = (0..<RandomHistory.tokens).map { player.token($0).bytes }
        return try await pool.withSession { session in
            try session.execute(
                "SELECT sha256(q.token) FROM unnest(\(tokens)) WITH ORDINALITY AS q (token, position) ORDER BY position"
            ).rows.map { try $0.column(0, as: [UInt8].self) }
        }
    }

    /// All orders of small sets of requests lead to one state, in the tables themselves.
    @Test func allOrdersOfSmallSetsLeadToOneState() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        let start = Date.minutesAgo(60)
        for seed in 0..<UInt64(TestScale.isLong ? 60 : 20) {
            var generator = SeededGenerator(seed: 1_000_000 + seed)
            let requests = Array(RandomHistory(using: &generator).requests.prefix(5))
            var states: Set<[String]> = []
            for (index, order) in permutations(of: requests).enumerated() {
                let name = "p\(seed)-\(index)"
                let player = HistoryPlayer(scope: scope, name: name, start: start)
                for request in order { try await player.play(request, on: database.registry) }
                states.insert(try await state(named: name, in: database.pool))
            }
            // Digests differ between the orders, for tokens are named after them; ties are left to the other test.
            if Set(requests.compactMap(\.time)).count == requests.count {
                #expect(states.count == 1, "\(requests)")
            }
        }
    }

    /// All that R0 speaks of, of one history's rows.
    private func state(named name: String, in pool: PostgresPool) async throws -> [String] {
        try await pool.withSession { session in
            try session.execute(
                """
                SELECT concat_ws('|', replace(a.activity_id, \(name), ''), convert_from(a.token, 'UTF8') = '', a.token_observed_at,
                    a.last_observed_at, a.ended_at, a.end_reason, a.installation_observed_at,
                    replace(a.aliases::text, \(name), ''), a.aliases_observed_at,
                    t.activity_id = a.activity_id, t.observed_at, CASE WHEN a.token_observed_at IS NOT NULL THEN a.started_at END,
                    (SELECT array_agg(r.observed_at ORDER BY r.observed_at) FROM retired_tokens r
                     WHERE r.activity_id = a.activity_id AND r.reason = 'rotated'
                         AND r.token_digest <> a.token_digest))
                FROM activities a LEFT JOIN token_values t USING (app_number, environment, token_digest)
                WHERE a.activity_id LIKE \(name + "/%")
                ORDER BY 1
                """
            ).rows.map { try $0.column(0, as: String.self) }
        }
    }
}

extension ClientRequest {
    fileprivate var time: Int? {
        switch self {
        case .register(_, _, let time, _, _, _), .end(_, let time), .fullState(_, let time, _), .death(_, let time):
            time
        }
    }
}
