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
        let begin = ContinuousClock.now
        let totals = LockedValue(PhoneLife.Counts())
        try await SimulatedService.run { service in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, seed) in Self.seeds.enumerated() {
                    if index >= 4 { try await group.next() }
                    group.addTask { totals.add(try await Self.play(seed, on: service)) }
                }
                try await group.waitForAll()
            }
        }
        let counts = totals.withLock { $0 }
        let time = ContinuousClock.now - begin
        print(
            "figure: phone simulator: \(Self.seeds.count) lives, \(counts.steps) steps, \(counts.launches) launches, "
                + "\(counts.requests) requests in \(time.components.seconds) s"
        )
    }

    private static func play(_ seed: UInt64, on service: SimulatedService) async throws -> PhoneLife.Counts {
        let (faults, life) = try await PhoneLife.faults(of: seed, on: service)
        if !faults.isEmpty {
            Issue.record("life \(seed): \(faults.joined(separator: "; "))\n\(life.network.diary.text)")
        }
        return await life.count
    }
}

extension LockedValue<PhoneLife.Counts> {
    fileprivate func add(_ other: PhoneLife.Counts) {
        withLock { counts in
            counts.steps += other.steps
            counts.launches += other.launches
            counts.requests += other.requests
        }
    }
}
