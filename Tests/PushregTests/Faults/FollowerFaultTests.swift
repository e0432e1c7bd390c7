import Synchronization
import TestSupport
import Testing

@Suite(.serialized) struct FollowerFaultTests {
    private static let rounds = TestScale.isLong ? 45 : 3
    private static let writers = 4
    private static let stepsOfAWriter = TestScale.isLong ? 200 : 60

    @Test(.timeLimit(.minutes(30)))
    func `A follower agrees with resolve after either instance or Postgres is killed`() async throws {
        let place = FaultPlace()
        try await place.start()
        let follower = try await ChangeFollower(at: place)
        let answered = Mutex(0)
        for round in 0..<Self.rounds {
            // In nine rounds, each form meets each fault.
            let form = ChangeFollower.Form.allCases[(round + round / 3) % 3]
            let following = Task { try await follower.follow(as: form) }
            try await Self.write(round, at: place) {
                let count = answered.withLock { answered in
                    answered += 1
                    return answered
                }
                guard count == round * Self.writers * Self.stepsOfAWriter + Self.writers * Self.stepsOfAWriter / 2
                else { return }
                try await place.strike(FaultPlace.Fault.allCases[round % 3])
            }
            let mark = "mark-\(round)"
            try await place.insist { try await $0.register(mark, number: 9_000_000 + round, alias: "marks") }
            try await until(.seconds(120)) { await follower.wasTold(of: mark) }
            following.cancel()
            _ = try? await following.value
            let differences = try await follower.differences()
            #expect(differences == [], "round \(round), by \(form)")
            #expect(await follower.refusals == [], "a crash must not invalidate a position")
        }
        print(
            "figure: \(Self.rounds) kills, \(answered.withLock { $0 }) steps, followed anew \(await follower.connections) times,",
            "\(await follower.changes) changes told"
        )
        await place.remove()
    }

    private static func write(
        _ round: Int,
        at place: FaultPlace,
        afterEach: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(round * writers + writer))
                    for _ in 0..<stepsOfAWriter {
                        let id = "r\(round)-\(Int.random(in: 0..<40, using: &generator))"
                        let isEnd = Int.random(in: 0..<6, using: &generator) == 0
                        let token = Int.random(in: 1...8, using: &generator)
                        let alias = ChangeFollower.aliases[Int.random(in: 0..<4, using: &generator)]
                        try await place.insist { service in
                            isEnd
                                ? try await service.call("DELETE", "\(ServiceProcess.app)/activities/\(id)")
                                : try await service.register(id, number: token, alias: alias)
                        }
                        try await afterEach()
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
