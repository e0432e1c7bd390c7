import Foundation
import RegistryClient
import RegistryClientTestSupport
import TestSupport
import Testing

/// The true client, on a simulated phone, against the true service on a real Postgres.
@Suite(.timeLimit(.minutes(60))) struct PhoneLifeTests {
    private static let count = UInt64(TestScale.isLong ? 10_000 : 300)
    /// `PUSHREG_PHONE_SEED` plays one life again.
    private static let seed = ProcessInfo.processInfo.environment["PUSHREG_PHONE_SEED"].flatMap { UInt64($0) }

    @Test("Random lives: once all is quiet, what a sender sees is what the phone shows") func randomLives() async throws {
        let begin = ContinuousClock.now
        let seeds = Self.seed.map { [$0] } ?? Array(1...Self.count)
        let totals = Guarded(PhoneLife.Counts())
        try await SimulatedService.run { service in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, seed) in seeds.enumerated() {
                    if index >= 4 { try await group.next() }
                    group.addTask { totals.add(try await Self.play(seed, on: service)) }
                }
                try await group.waitForAll()
            }
        }
        let counts = totals.withLock { $0 }
        let time = ContinuousClock.now - begin
        print(
            "figure: phone simulator: \(seeds.count) lives, \(counts.steps) steps, \(counts.launches) launches, "
                + "\(counts.requests) requests in \(time.components.seconds) s"
        )
    }

    private static func play(_ seed: UInt64, on service: SimulatedService) async throws -> PhoneLife.Counts {
        let (faults, life) = try await PhoneLife.faults(of: seed, on: service)
        if !faults.isEmpty {
            let history = await life.history.map { "  \($0)" }.joined(separator: "\n")
            Issue.record("life \(seed): \(faults.joined(separator: "; "))\n\(history)")
        }
        return await life.count
    }
}

extension Guarded<PhoneLife.Counts> {
    fileprivate func add(_ other: PhoneLife.Counts) {
        withLock { counts in
            counts.steps += other.steps
            counts.launches += other.launches
            counts.requests += other.requests
        }
    }
}
