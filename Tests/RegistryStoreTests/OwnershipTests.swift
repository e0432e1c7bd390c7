import Foundation
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

    private func refusal(_ token: Int, by claimant: Claimant, to activity: TestActivity) async -> Problem.Code? {
        await activity.problem { try await activity.register(token, at: nil, claimant: claimant) }?.code
    }

    @Test func `A record without a subject gets the subject of the first permitted caller`() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: Self.t0, claimant: .installation(Self.phone))
        try await activity.register(1, at: Self.after(1), claimant: .subject("u-1", Self.phone))
        #expect(await refusal(2, by: .subject("u-2", Self.phone), to: activity) == .notYours)
        try await activity.register(3, at: Self.after(3), claimant: Self.one)
        #expect(try await activity.currentToken() == .sample(3))
    }

    /// A tombstone that a backend created belongs to the first caller who registers.
    @Test(arguments: [true, false])
    func `The tombstone of an unknown id has an owner`(isOfUser: Bool) async throws {
        let activity = try await TestActivity.make()
        try await activity.end(claimant: isOfUser ? Self.one : .any)
        #expect(await refusal(1, by: Self.one, to: activity) == .activityEnded)
        #expect(await refusal(2, by: Self.two, to: activity) == .notYours)
    }

    @Test func `A later claim takes over another user's token, and a refused claim does not`() async throws {
        let first = try await TestActivity.make()
        let second = first.another("second")
        try await first.register(1, at: Self.t0, claimant: Self.one)
        try await second.register(1, at: Self.after(1), claimant: Self.two)
        #expect(try await first.currentToken() == nil)
        #expect(await refusal(1, by: Self.two, to: first) == .notYours)
        #expect(try await second.currentToken() == .sample(1))
    }

    @Test func `A full state does not change activities of other users`() async throws {
        let own = try await TestActivity.make("own")
        let (foreign, former) = (own.another("foreign"), own.another("former"))
        let user = Claimant.subject("u-1", Self.phone)
        try await own.register(1, at: Self.t0, claimant: user)
        try await foreign.register(2, at: Self.t0, claimant: .subject("u-2", Self.tablet))
        try await former.register(3, at: Self.t0, claimant: .subject("u-2", Self.phone))
        let items = [own, foreign, former].map { FullState.Item(activityID: $0.id, registration: .sample(token: nil)) }
        let answer = try await own.tellFullState(of: Self.phone, items, at: Self.after(5), claimant: user)
        let codes = answer.results.map { result -> Problem.Code? in
            guard case .failure(let problem) = result else { return nil }
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

    @Test func `After the end of a named activity, the next activity belongs to the next user`() async throws {
        let phone = try await TestInstallation.make()
        let identity = phone.identity("match-7")
        let (owner, one, two) = (ActivityOwner.installation(phone.hash), phone.asUser("u-1"), phone.asUser("u-2"))
        #expect(try await identity.post(1, owner: owner, claimant: one.claimant).outcome == .registered)
        try await identity.end(owner: owner, claimant: one.claimant)
        #expect(try await identity.post(2, owner: owner, claimant: two.claimant).outcome == .registered)
        let late = await phone.problem { try await identity.post(3, owner: owner, claimant: one.claimant) }
        #expect(late?.code == .notYours)
    }

    @Test(arguments: [true, false])
    func `One of many racing users becomes the owner`(isTimed: Bool) async throws {
        let root = try await TestActivity.make()
        let instances = [root, root.elsewhere()]
        for round in 0..<(TestScale.isLong ? 400 : 25) {
            let activities = instances.map { $0.another("contested-\(round)") }
            let winners = try await withThrowingTaskGroup(of: Int?.self) { group in
                for user in 0..<6 {
                    group.addTask {
                        let tokens = (0..<3).map { round * 100 + $0 * 10 + user }
                        let activity = activities[user % 2]
                        return try await Self.contend(for: activity, as: "u-\(user)", tokens, isTimed) ? user : nil
                    }
                }
                return try await group.compactMap(\.self).reduce(into: []) { $0.append($1) }
            }
            try #require(winners.count == 1)
            #expect(try await activities[0].currentToken() == .sample(round * 100 + 20 + winners[0]))
            #expect(try await activities[0].events() == ["registered", "rotated", "rotated"])
        }
    }

    /// - Returns: whether any token was accepted.
    private static func contend(
        for activity: TestActivity,
        as subject: UTF8Text,
        _ tokens: [Int],
        _ isTimed: Bool
    ) async throws -> Bool {
        var wins = 0
        for token in tokens {
            do {
                let time = isTimed ? after(Double(token % 100) / 100) : nil
                try await activity.register(token, at: time, claimant: .subject(subject, nil))
                wins += 1
            } catch let problem as Problem where problem.code == .notYours { continue }
        }
        return wins > 0
    }
}
