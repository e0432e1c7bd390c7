import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// R0 for installations: requests in any order and repetition lead to one state.
@Suite(.timeLimit(.minutes(15))) struct InstallationHistoryTests {
    private static let t0 = Date.minutesAgo(60)

    enum Step: Sendable, Hashable {
        case start(Int, Double)
        case device(Int, Double)
        case delete(Double)
        case deleteDevice(Double)
        case put(String?, String?, Double)
        case logOut(Double)
        case otherDevice(Int, Double)
        case activity(String, Int, Double)
    }

    static let sets: [[Step]] = [
        [.start(1, 1), .start(2, 2), .start(1, 3), .delete(2)],
        [.start(1, 1), .start(2, 1), .delete(1), .start(2, 2)],
        [.device(1, 1), .otherDevice(1, 2), .device(1, 3), .device(2, 4)],
        [.device(1, 1), .otherDevice(1, 1), .deleteDevice(2), .otherDevice(2, 3)],
        [.device(1, 2), .logOut(1), .start(2, 1), .start(3, 2)],
        [.put("a", nil, 1), .put("b", "m", 2), .logOut(2), .put(nil, "n", 3)],
        [.put("a", "m", 1), .put("a", "n", 1), .put("b", nil, 3), .logOut(1)],
        [.start(1, 1), .logOut(2), .start(1, 3), .delete(1)],
        [.activity("x", 1, 1), .logOut(2), .activity("x", 2, 3), .activity("y", 3, 3)],
        [.activity("x", 1, 1), .device(1, 2), .activity("x", 2, 3), .logOut(1)],
    ]

    @Test(arguments: sets.indices)
    func `Every order of the requests leads to the same state`(_ set: Int) async throws {
        var states: Set<[String]> = []
        let steps = Self.sets[set]
        for order in permutations(of: Array(steps.indices)) {
            let phone = try await Player.make(set, order)
            // The first request is repeated at the end, like a retry.
            for index in order + order.prefix(1) { await phone.play(steps[index]) }
            states.insert(try await phone.state())
        }
        #expect(states.count == 1, "\(states)")
        #expect(states.first?.isEmpty == false)
    }

    private struct Player {
        let phone: TestInstallation
        let other: TestInstallation
        let name: String

        static func make(_ set: Int, _ order: [Int]) async throws -> Player {
            let name = "\(set) \(order)"
            let phone = try await TestInstallation.make(sharing: "histories", Array("a \(name)".utf8))
            let hash = InstallationHash(bytes: Array("b \(name)".utf8))
            let other = TestInstallation(database: phone.database, scope: phone.scope, hash: hash)
            return Player(phone: phone, other: other, name: name)
        }

        private func time(_ minute: Double) -> Date { t0.addingTimeInterval(minute * 60) }

        private func token(_ number: Int) -> PushToken { PushToken(bytes: Array("\(number) \(name)".utf8)) }

        func play(_ step: Step) async {
            switch step {
            // Start tokens may repeat, and equal tokens break ties equally.
            case .start(let number, let minute):
                await register(.sample(number), TestInstallation.delivery, minute, phone)
            case .device(let number, let minute):
                await register(token(number), TestInstallation.device, minute, phone)
            case .otherDevice(let number, let minute):
                await register(token(number), TestInstallation.device, minute, other)
            case .delete(let minute): try? await phone.delete(at: time(minute))
            case .deleteDevice(let minute): try? await phone.delete(TestInstallation.device, at: time(minute))
            case .logOut(let minute): try? await phone.logOut(at: time(minute))
            case .put(let alias, let note, let minute): await put(alias, note, minute)
            case .activity(let id, let token, let minute): await register(id, token, minute)
            }
        }

        private func register(_ token: PushToken, _ slot: TokenSlot, _ minute: Double, _ phone: TestInstallation) async
        { _ = try? await phone.register(token, in: slot, at: time(minute)) }

        private func put(_ alias: String?, _ note: String?, _ minute: Double) async {
            let aliases = alias.map { [Alias.sample("userId", "\($0) \(name)")] }
            let metadata: JSONValue? = note.map { ["note": .string($0)] }
            _ = try? await phone.put(aliases, metadata: metadata, at: time(minute))
        }

        private func register(_ id: String, _ number: Int, _ minute: Double) async {
            let (token, time, hash) = (token(number), time(minute), phone.hash)
            let registration = ActivityRegistration.sample(token: token, observedAt: time, installation: hash)
            let id = ActivityID.sample("\(id) \(name)")
            _ = try? await phone.registry.register(registration, as: id, in: phone.scope, by: "test")
        }

        /// All state that affects later requests and senders, without times of receipt and numbers, which R0 does not
        /// cover.
        func state() async throws -> [String] {
            let hashes = [phone.hash.bytes, other.hash.bytes]
            let lines = try await phone.column(
                """
                SELECT concat_ws('|', c.kind, encode(c.token, 'escape'), c.attributes_type,
                    encode(c.installation_hash, 'escape'), c.observed_at)
                FROM deliverable_installation_tokens c WHERE c.installation_hash = ANY(\(hashes))
                UNION ALL
                SELECT concat_ws('|', 'installation', encode(i.installation_hash, 'escape'), i.aliases, i.aliases_observed_at,
                    i.metadata, i.metadata_observed_at, i.removed_at)
                FROM installations i WHERE i.installation_hash = ANY(\(hashes))
                UNION ALL
                SELECT concat_ws('|', 'row', r.token IS NOT NULL, encode(r.token_digest, 'hex') = encode(sha256(r.token), 'hex'),
                    r.observed_at, r.deleted_at)
                FROM installation_tokens r WHERE r.kind = 'start' AND r.installation_hash = ANY(\(hashes))
                UNION ALL
                SELECT concat_ws('|', 'alias', al.kind, al.value) FROM installation_aliases al
                WHERE al.installation_hash = ANY(\(hashes))
                UNION ALL
                SELECT concat_ws('|', 'activity', c.activity_id, encode(c.token, 'escape'))
                FROM deliverable_activities c WHERE c.installation_hash = ANY(\(hashes))
                """
            )
            return lines.map { $0.replacingOccurrences(of: name, with: "") }.sorted()
        }
    }
}
