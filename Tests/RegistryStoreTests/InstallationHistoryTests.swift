import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

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
            SELECT concat_ws('|', 'row', r.installation_hash, r.token IS NOT NULL, r.token_digest = sha256(r.token),
                r.observed_at, r.deleted_at)
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
