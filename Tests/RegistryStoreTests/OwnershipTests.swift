import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import Synchronization
import TestSupport
import Testing

/// Section 5: whose a record is, and who may change it.
@Suite(.timeLimit(.minutes(15))) struct OwnershipTests {
    private static let (phone, tablet) = (InstallationHash.sample(1), InstallationHash.sample(2))
    private static let t0 = Date.minutesAgo(60)

    private static func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    /// A caller who made a record, or asks to change one.
    struct Party: Sendable, CustomTestStringConvertible {
        let claimant: Claimant
        var testDescription: String { "\(claimant)" }

        init(_ claimant: Claimant) { self.claimant = claimant }

        static let all = [
            Party(.any), Party(.subject("u-1", nil)), Party(.subject("u-1", phone)), Party(.subject("u-1", tablet)),
            Party(.subject("u-2", nil)), Party(.subject("u-2", phone)), Party(.installation(phone)),
            Party(.installation(tablet)),
        ]

        private var names: (subject: UTF8Text?, installation: InstallationHash?) {
            switch claimant {
            case .any: (nil, nil)
            case .subject(let subject, let installation): (subject, installation)
            case .installation(let installation): (nil, installation)
            }
        }

        /// The rules, spelled out a second time.
        func mayChange(recordOf maker: Party, isBareTombstone: Bool) -> Bool {
            if claimant == .any { return true }
            let record = maker.names
            if record.subject == nil, record.installation == nil { return isBareTombstone }
            switch claimant {
            case .subject(let subject, let installation):
                if let owner = record.subject { return owner == subject }
                return installation == record.installation
            default: return record.installation == names.installation
            }
        }
    }

    /// All that is stored, as text.
    private func contents(_ activity: TestActivity) async throws -> [String] {
        try await activity.database.pool.withSession { session in
            let tables = ["activities", "token_values", "former_claims", "activity_aliases", "events"]
            return try tables.flatMap { table in
                try session.execute("SELECT t::text FROM \(unescaped: table) t ORDER BY 1").decode(String.self)
            }
        }
    }

    private func register(
        _ token: Int,
        at time: Date?,
        by party: Party,
        to activity: TestActivity
    ) async throws -> RegistrationAnswer {
        try await activity.database.registry.register(
            .sample(
                token: .sample(token),
                observedAt: time,
                aliases: [.sample("orderId", "\(party.claimant)".description)]
            ),
            as: activity.id,
            in: activity.scope,
            by: "test",
            claimant: party.claimant
        )
    }

    private func end(_ activity: TestActivity, by party: Party, at time: Date?) async throws {
        try await activity.database.registry.end(
            activity.id,
            reason: .ended,
            observedAt: time,
            in: activity.scope,
            by: "test",
            claimant: party.claimant
        )
    }

    /// Each maker, each caller, and each change: what is not allowed is refused first and leaves no trace.
    @Test("Every pair of maker and caller gets what the table says", arguments: Party.all)
    func everyPairOfMakerAndCaller(maker: Party) async throws {
        let root = try await TestActivity.make()
        for (number, caller) in Party.all.enumerated() {
            for isTimed in [true, false] {
                for isEnded in [true, false] {
                    let activity = root.another("\(number)-\(isTimed)-\(isEnded)")
                    let base = number * 100 + (isTimed ? 10 : 20) + (isEnded ? 40 : 0)
                    if isEnded { try await end(activity, by: maker, at: Self.after(1)) }
                    if !isEnded { _ = try await register(base, at: Self.after(1), by: maker, to: activity) }
                    let isAllowed = caller.mayChange(recordOf: maker, isBareTombstone: isEnded)
                    let before = try await contents(activity)
                    for (step, token) in [base + 1, base].enumerated() {
                        let time = isTimed ? Self.after(Double(2 + step)) : nil
                        let problem = await activity.problem {
                            try await register(token, at: time, by: caller, to: activity)
                        }
                        let expected: Problem.Code? =
                            isEnded ? .activityEnded : (isTimed || step == 0 ? nil : .superseded)
                        #expect(problem?.code == (isAllowed ? expected : .notYours), "\(caller) \(isTimed) \(isEnded)")
                        #expect(isAllowed || problem?.activity == nil)
                    }
                    let problem = await activity.problem {
                        try await end(activity, by: caller, at: isTimed ? Self.after(9) : nil)
                    }
                    #expect(problem?.code == (isAllowed ? nil : .notYours))
                    if !isAllowed { #expect(try await contents(activity) == before, "\(caller) \(isTimed) \(isEnded)") }
                }
            }
        }
    }

    @Test("Record takes the subject on") func recordTakesTheSubjectOn() async throws {
        let activity = try await TestActivity.make()
        _ = try await register(1, at: Self.t0, by: Party(.installation(Self.phone)), to: activity)
        _ = try await register(1, at: Self.after(1), by: Party(.subject("u-1", Self.phone)), to: activity)
        let other = await activity.problem {
            try await register(2, at: Self.after(2), by: Party(.subject("u-2", Self.phone)), to: activity)
        }
        #expect(other?.code == .notYours)
        _ = try await register(3, at: Self.after(3), by: Party(.subject("u-1", nil)), to: activity)
        #expect(try await activity.currentToken() == .sample(3))
    }

    /// The tombstone of an id never seen belongs to who left it; one that a backend left, to the first who comes.
    @Test("Tombstones have owners") func tombstonesHaveOwners() async throws {
        let activity = try await TestActivity.make()
        let (one, two) = (Party(.subject("u-1", nil)), Party(.subject("u-2", nil)))
        try await end(activity, by: one, at: nil)
        #expect(
            await activity.problem { try await register(1, at: nil, by: one, to: activity) }?.code == .activityEnded
        )
        #expect(await activity.problem { try await register(2, at: nil, by: two, to: activity) }?.code == .notYours)
        let bare = activity.another("bare")
        try await end(bare, by: Party(.any), at: nil)
        #expect(await bare.problem { try await register(3, at: nil, by: two, to: bare) }?.code == .activityEnded)
        #expect(await bare.problem { try await register(4, at: nil, by: one, to: bare) }?.code == .notYours)
    }

    /// R7 is about tokens: a caller who registers a token later for an activity of their own gets it.
    @Test("Tokens are taken over from others") func tokensAreTakenOverFromOthers() async throws {
        let first = try await TestActivity.make()
        let second = first.another("second")
        _ = try await register(1, at: Self.t0, by: Party(.subject("u-1", nil)), to: first)
        #expect(
            try await register(1, at: Self.after(1), by: Party(.subject("u-2", nil)), to: second).outcome == .registered
        )
        #expect(try await first.currentToken() == nil)
        #expect(try await second.currentToken() == .sample(1))
        // A request that is refused claims no token either.
        let stolen = await first.problem {
            try await register(1, at: Self.after(2), by: Party(.subject("u-2", nil)), to: first)
        }
        #expect(stolen?.code == .notYours)
        #expect(try await second.currentToken() == .sample(1))
    }

    /// In a full state, another's activity is a problem in its place and nothing else.
    @Test("Full state leaves others alone") func fullStateLeavesOthersAlone() async throws {
        let own = try await TestActivity.make("own")
        let (foreign, former) = (own.another("foreign"), own.another("former"))
        let user = Party(.subject("u-1", Self.phone))
        _ = try await register(1, at: Self.t0, by: user, to: own)
        _ = try await register(2, at: Self.t0, by: Party(.subject("u-2", Self.tablet)), to: foreign)
        _ = try await register(3, at: Self.t0, by: Party(.subject("u-2", Self.phone)), to: former)
        let state = FullState(
            observedAt: Self.after(5),
            items: [own, foreign, former].enumerated().map {
                .init(activityID: $1.id, registration: .sample(token: .sample($0 + 1)))
            }
        )
        let registry = own.database.registry
        let answer = try await registry.apply(state, of: Self.phone, in: own.scope, by: "test", claimant: user.claimant)
        let codes = answer.results.map { item -> Problem.Code? in
            guard case .failure(let problem) = item.result else { return nil }
            return problem.code
        }
        #expect(codes == [nil, .notYours, .notYours])
        #expect(try await foreign.record()?.answer.state == .active)
        // It is of this installation, where someone else is signed in now.
        #expect(answer.ended == [former.id])
        #expect(try await former.record()?.answer.state == .dismissed)
        #expect(try await former.events() == ["registered", "dismissed"])
        #expect(try await foreign.events() == ["registered"])
    }

    @Test("Installation is taken over") func installationIsTakenOver() async throws {
        let activity = try await TestActivity.make()
        let registry = activity.database.registry
        func apply(_ minute: Double, by claimant: Claimant) async throws {
            let state = FullState(observedAt: Self.after(minute), items: [])
            _ = try await registry.apply(state, of: Self.phone, in: activity.scope, by: "test", claimant: claimant)
        }
        func seen() async throws -> [String?] {
            try await activity.database.pool.withSession { session in
                let (subject, aliases, count) = try session.execute(
                    """
                    SELECT i.subject, i.aliases::text, (SELECT count(*)::text FROM installation_aliases) FROM installations i
                    """
                )[0].decode(String?.self, String?.self, String?.self)
                return [subject, aliases, count]
            }
        }
        try await apply(1, by: .installation(Self.phone))
        try await activity.database.pool.withSession { session in
            _ = try session.execute(
                """
                UPDATE installations SET aliases = '{"userId": ["u-1"]}', aliases_observed_at = \(Self.after(1))
                """
            )
            _ = try session.execute(
                """
                INSERT INTO installation_aliases
                SELECT app_number, environment, 'userId', 'u-1', installation_hash FROM installations
                """
            )
        }
        try await apply(2, by: .subject("u-1", Self.phone))
        #expect(try await seen() == ["u-1", #"{"userId": ["u-1"]}"#, "1"])
        try await apply(3, by: .any)
        try await apply(4, by: .installation(Self.phone))
        try await apply(5, by: .subject("u-1", Self.phone))
        #expect(try await seen() == ["u-1", #"{"userId": ["u-1"]}"#, "1"])
        try await apply(6, by: .subject("u-2", Self.phone))
        #expect(try await seen() == ["u-2", nil, "0"])
    }

    @Test("A request that is refused for its time leaves no event") func refusedForItsTimeLeavesNoEvent() async throws {
        let activity = try await TestActivity.make()
        try await activity.register(1, at: Self.t0)
        await #expect(throws: Problem.self) { try await activity.register(2, at: .minutesAgo(-30)) }
        #expect(try await activity.events() == ["registered"])
        try await activity.end()
        await #expect(throws: Problem.self) { try await activity.end(at: .minutesAgo(-30)) }
        #expect(try await activity.events() == ["registered", "ended"])
    }

    /// Many users at once over records that nobody has yet: each record gets one owner, who alone changes it.
    @Test("Many subjects race over one record", arguments: [true, false])
    func manySubjectsOverOneRecord(isTimed: Bool) async throws {
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

    /// Registers tokens one after the other, each observed later than the one before.
    ///
    /// - Returns: whether any was taken.
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
            } catch let problem as Problem where problem.code == .notYours {
                continue
            }
        }
        return wins > 0
    }
}
