import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

/// Owners of activities: assignment and races. `OwnerMatrix` has the other rules.
@Suite(.timeLimit(.minutes(15))) struct OwnershipTests {
    private static let (phone, tablet) = (InstallationHash.sample(1), InstallationHash.sample(2))
    private static let t0 = Date.minutesAgo(60)
    private static let (one, two) = (Claimant.subject("u-1", nil), Claimant.subject("u-2", nil))

    private static func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    @discardableResult
    private func register(
        _ token: Int,
        at time: Date? = nil,
        by claimant: Claimant,
        to activity: TestActivity
    ) async throws -> RegistrationResult {
        try await activity.database.registry.register(
            .sample(token: .sample(token), observedAt: time),
            as: activity.id,
            in: activity.scope,
            by: "test",
            claimant: claimant
        )
    }

    private func refusal(_ token: Int, by claimant: Claimant, to activity: TestActivity) async -> Problem.Code? {
        await activity.problem { try await register(token, by: claimant, to: activity) }?.code
    }

    @Test func `A record without a subject gets the subject of the first permitted caller`() async throws {
        let activity = try await TestActivity.make()
        try await register(1, at: Self.t0, by: .installation(Self.phone), to: activity)
        try await register(1, at: Self.after(1), by: .subject("u-1", Self.phone), to: activity)
        #expect(await refusal(2, by: .subject("u-2", Self.phone), to: activity) == .notYours)
        try await register(3, at: Self.after(3), by: Self.one, to: activity)
        #expect(try await activity.currentToken() == .sample(3))
    }

    /// The first caller who registers gets a tombstone left by a backend.
    @Test(arguments: [true, false])
    func `The tombstone of an unknown id has an owner`(isOfUser: Bool) async throws {
        let activity = try await TestActivity.make()
        try await activity.database.registry.end(
            activity.id,
            reason: .ended,
            observedAt: nil,
            in: activity.scope,
            by: "test",
            claimant: isOfUser ? Self.one : .any
        )
        #expect(await refusal(1, by: Self.one, to: activity) == .activityEnded)
        #expect(await refusal(2, by: Self.two, to: activity) == .notYours)
    }

    @Test func `A later claim takes a token over from another user, and a refused one does not`() async throws {
        let first = try await TestActivity.make()
        let second = first.another("second")
        try await register(1, at: Self.t0, by: Self.one, to: first)
        try await register(1, at: Self.after(1), by: Self.two, to: second)
        #expect(try await first.currentToken() == nil)
        #expect(await refusal(1, by: Self.two, to: first) == .notYours)
        #expect(try await second.currentToken() == .sample(1))
    }

    @Test func `A full state leaves activities of other users alone`() async throws {
        let own = try await TestActivity.make("own")
        let (foreign, former) = (own.another("foreign"), own.another("former"))
        let user = Claimant.subject("u-1", Self.phone)
        try await register(1, at: Self.t0, by: user, to: own)
        try await register(2, at: Self.t0, by: .subject("u-2", Self.tablet), to: foreign)
        try await register(3, at: Self.t0, by: .subject("u-2", Self.phone), to: former)
        let items = [own, foreign, former].map { FullState.Item(activityID: $0.id, registration: .sample(token: nil)) }
        let state = FullState(observedAt: Self.after(5), items: items)
        let registry = own.database.registry
        let answer = try await registry.apply(state, of: Self.phone, in: own.scope, by: "test", claimant: user)
        let codes = answer.results.map { item -> Problem.Code? in
            guard case .failure(let problem) = item.result else { return nil }
            return problem.code
        }
        #expect(codes == [nil, .notYours, .notYours])
        #expect(try await foreign.events() == ["registered"])
        // The former user's activity on this phone is dismissed, because another user is signed in.
        #expect(answer.ended == [former.id])
        #expect(try await former.events() == ["registered", "dismissed"])
    }

    @Test func `A request refused for its time writes no event`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: Self.t0)
        await #expect(throws: Problem.self) { try await activity.register(2, at: .minutesAgo(-30)) }
        #expect(try await activity.events() == ["registered"])
        try await activity.end()
        await #expect(throws: Problem.self) { try await activity.end(at: .minutesAgo(-30)) }
        #expect(try await activity.events() == ["registered", "ended"])
    }

    @Test func `After the end of a named activity the next one belongs to the next user`() async throws {
        let database = try await TestDatabase.make()
        let (registry, scope) = (database.registry, try await database.scope())
        let phone = TestInstallation(database: database, scope: scope, hash: Self.phone)
        func post(_ token: Int, by user: TestInstallation) async throws -> RegistrationOutcome {
            try await registry.register(
                .sample(token: .sample(token)),
                alias: "match-7",
                owner: .installation(Self.phone),
                in: scope,
                by: "test",
                claimant: user.claimant
            ).outcome
        }
        let (one, two) = (phone.asUser("u-1"), phone.asUser("u-2"))
        #expect(try await post(1, by: one) == .registered)
        try await registry.end(
            alias: "match-7",
            owner: .installation(Self.phone),
            reason: .ended,
            observedAt: nil,
            in: scope,
            by: "test",
            claimant: one.claimant
        )
        #expect(try await post(2, by: two) == .registered)
        #expect(await phone.problem { try await post(3, by: one) }?.code == .notYours)
    }

    @Test(arguments: [true, false])
    func `One of many racing users becomes the owner`(isTimed: Bool) async throws {
        let root = try await TestActivity.make()
        let registries = [root.database.registry, root.database.anotherRegistry()]
        for round in 0..<(TestScale.isLong ? 400 : 25) {
            let activity = root.another("contested-\(round)")
            let winners = try await withThrowingTaskGroup(of: Int?.self) { group in
                for user in 0..<6 {
                    group.addTask {
                        let tokens = (0..<3).map { round * 100 + $0 * 10 + user }
                        let isWinner = try await Self.contend(
                            for: activity,
                            as: "u-\(user)",
                            tokens,
                            isTimed,
                            registries[user % 2]
                        )
                        return isWinner ? user : nil
                    }
                }
                return try await group.compactMap(\.self).reduce(into: []) { $0.append($1) }
            }
            try #require(winners.count == 1)
            #expect(try await activity.currentToken() == .sample(round * 100 + 20 + winners[0]))
            #expect(try await activity.events() == ["registered", "rotated", "rotated"])
        }
    }

    /// - Returns: whether any token was accepted.
    private static func contend(
        for activity: TestActivity,
        as subject: String,
        _ tokens: [Int],
        _ isTimed: Bool,
        _ registry: Registry
    ) async throws -> Bool {
        var wins = 0
        for token in tokens {
            do {
                _ = try await registry.register(
                    .sample(token: .sample(token), observedAt: isTimed ? after(Double(token % 100) / 100) : nil),
                    as: activity.id,
                    in: activity.scope,
                    by: "test",
                    claimant: .subject(UTF8Text(subject), nil)
                )
                wins += 1
            } catch let problem as Problem where problem.code == .notYours { continue }
        }
        return wins > 0
    }
}
