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
