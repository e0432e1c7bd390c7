import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// Section 5 for installations: who may change what is of them, and who takes them over.
@Suite(.timeLimit(.minutes(15))) struct InstallationOwnerTests {
    private let t0 = Date.minutesAgo(60)
    private let alias = Alias.sample("userId", "u-1")

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

    /// The calls that change what is of an installation without registering it.
    enum Change: CaseIterable {
        case startToken, deviceToken, startDeletion, deviceDeletion, logOut

        func make(on phone: TestInstallation, at time: Date?) async throws {
            switch self {
            case .startToken: try await phone.register(9, at: time)
            case .deviceToken: try await phone.register(9, in: TestInstallation.device, at: time)
            case .startDeletion: try await phone.delete(at: time)
            case .deviceDeletion: try await phone.delete(TestInstallation.device, at: time)
            case .logOut: try await phone.logOut(at: time)
            }
        }
    }

    /// All that is stored, as text.
    private func contents(_ phone: TestInstallation) async throws -> [String] {
        let tables = [
            "installations", "installation_tokens", "installation_aliases", "token_values", "events", "activities",
        ]
        var rows: [String] = []
        for table in tables { rows += try await phone.column("SELECT t::text FROM \(unescaped: table) t ORDER BY 1") }
        return rows
    }

    private func subject(_ phone: TestInstallation) async throws -> UTF8Text? { try await phone.record()?.subject }

    @Test("Another user is refused and leaves no trace", arguments: Change.allCases, [true, false])
    func anotherUserIsRefusedAndLeavesNoTrace(change: Change, isTimed: Bool) async throws {
        let phone = try await TestInstallation.make()
        let (one, two) = (phone.asUser("u-1"), phone.asUser("u-2"))
        try await one.put([alias], at: t0)
        try await one.register(1, at: t0)
        try await one.register(2, in: TestInstallation.device, at: t0)
        let before = try await contents(phone)
        let time = isTimed ? after(5) : nil
        #expect(await phone.problem { try await change.make(on: two, at: time) }?.code == .notYours)
        #expect(try await contents(phone) == before)
        // A clock that runs ahead is told first.
        #expect(await phone.problem { try await change.make(on: two, at: .minutesAgo(-30)) }?.code == .clockSkew)
        #expect(try await contents(phone) == before)
        // The control: its own user may, and so may the installation itself and a backend.
        for caller in [one, phone.asClient, phone] { try await change.make(on: caller, at: time) }
        #expect(try await contents(phone) != before)
    }

    @Test("An installation that is nobody's takes the subject on", arguments: Change.allCases)
    func whatIsNobodysTakesTheSubjectOn(change: Change) async throws {
        let phone = try await TestInstallation.make()
        try await phone.asClient.register(1, at: t0)
        try await phone.put([alias], at: t0)
        #expect(try await subject(phone) == nil)
        try await change.make(on: phone.asUser("u-1"), at: after(1))
        // A log-out leaves nobody there.
        #expect(try await subject(phone) == (change == .logOut ? nil : "u-1"))
        let other = await phone.problem { try await phone.asUser("u-2").register(3, at: after(2)) }
        #expect(other?.code == (change == .logOut ? nil : .notYours))
        // To take a subject on clears nothing.
        if change != .logOut { #expect(try await phone.record()?.aliases != nil) }
    }

    @Test("The first call makes it the user's") func firstCallMakesItTheUsers() async throws {
        let phone = try await TestInstallation.make()
        for (number, change) in Change.allCases.enumerated() where change != .logOut {
            let own = phone.another(number + 1)
            try await change.make(on: own.asUser("u-1"), at: t0)
            #expect(try await subject(own) == "u-1")
        }
    }

    @Test("Aliases that a late registration of another user clears, though it takes nothing over, are told as changed")
    func lateRegistrationThatClearsIsTold() async throws {
        let phone = try await TestInstallation.make()
        let (one, two) = (phone.asUser("u-1"), phone.asUser("u-2"))
        try await one.put([alias], at: t0)
        try await one.put(nil, at: after(10))
        let registry = phone.database.registry
        let position = try await registry.presentChangePosition()
        #expect(await phone.problem { try await two.put(nil, at: after(5)) }?.code == .superseded)
        #expect(try await subject(phone) == "u-1")
        #expect(try await phone.record()?.aliases == nil)
        let told = try await registry.changes(after: position, limit: 10, in: phone.scope).changes
        #expect(told.first?.type == "aliases")
        #expect(told.first?.aliases.map { String(decoding: $0, as: UTF8.self).contains(alias.value.string) } == true)
        #expect(try await !phone.events().contains("taken-over"))
    }

    @Test("Another user takes it over and aliases are cleared") func anotherUserTakesItOverAndAliasesAreCleared()
        async throws
    {
        let phone = try await TestInstallation.make()
        let (one, two) = (phone.asUser("u-1"), phone.asUser("u-2"))
        try await one.put([alias], at: t0)
        try await one.register(1, at: t0)
        #expect(try await phone.found(alias) == [.sample(1)])
        try await two.put(nil, at: after(1))
        #expect(try await subject(phone) == "u-2")
        #expect(try await phone.found(alias) == [])
        #expect(try await phone.record()?.aliases == nil)
        #expect(
            try await phone.events() == ["installation-changed", "registered", "taken-over", "installation-changed"]
        )
        // The token is the device's; it is found by the new user's aliases from now on.
        #expect(try await phone.token() == .sample(1))
        try await two.put([.sample("userId", "u-2")], at: after(2))
        #expect(try await phone.found(.sample("userId", "u-2")) == [.sample(1)])
        try await two.register(2, at: after(3))
        #expect(await phone.problem { try await one.register(3, at: after(4)) }?.code == .notYours)
        // Once more the same: it is theirs already.
        try await two.put([.sample("userId", "u-2")], at: after(2))
        #expect(try await phone.found(.sample("userId", "u-2")) == [.sample(2)])
        #expect(try await phone.events().filter { $0 == "taken-over" }.count == 1)
    }

    @Test("Late registration takes nothing over") func lateRegistrationTakesNothingOver() async throws {
        let phone = try await TestInstallation.make()
        let (one, two) = (phone.asUser("u-1"), phone.asUser("u-2"))
        try await two.put([.sample("userId", "u-2")], at: after(5))
        let late = await phone.problem { try await one.put([alias], metadata: ["a": 1], at: after(4)) }
        #expect(late?.code == .superseded && late?.serverTime != nil)
        #expect(try await subject(phone) == "u-2")
        #expect(try await phone.record()?.aliases == Array(#"{"userId": ["u-2"]}"#.utf8))
        #expect(try await phone.record()?.metadata == nil)
        // A full state, too: what runs is taken in, the installation stays whose it is.
        let state = FullState(observedAt: after(3), items: [])
        _ = try await phone.database.registry.apply(
            state,
            of: phone.hash,
            in: phone.scope,
            by: "test",
            claimant: one.claimant
        )
        #expect(try await subject(phone) == "u-2")
        // Aliases that a key gave before the new user came are as old as they are.
        _ = await phone.problem { try await phone.asClient.put([alias], at: after(3.5)) }
        #expect(try await phone.record()?.aliases == Array(#"{"userId": ["u-2"]}"#.utf8))
        try await one.put(nil, at: after(6))
        _ = await phone.problem { try await phone.asClient.put([alias], at: after(5.5)) }
        #expect(try await phone.record()?.aliases == nil)
    }

    /// R0: users that come and go, in all orders.
    @Test("All orders of users lead to one owner") func allOrdersOfUsersLeadToOneOwner() async throws {
        let steps = [("u-1", 1.0), ("u-2", 2), ("u-2", 3), ("u-1", 4)]
        var states: Set<[String]> = []
        for order in permutations(of: Array(steps.indices)) {
            let phone = try await TestInstallation.make(sharing: "owners", order.map(UInt8.init))
            for index in order {
                let (user, minute) = steps[index]
                _ = await phone.problem {
                    try await phone.asUser(UTF8Text(user)).put(
                        [.sample("userId", "\(user)-\(minute)")],
                        at: after(minute)
                    )
                }
            }
            let record = try await phone.record()
            states.insert([record?.subject?.string ?? "", String(decoding: record?.aliases ?? [], as: UTF8.self)])
        }
        #expect(states == [["u-1", #"{"userId": ["u-1-4.0"]}"#]])
    }

    @Test("After a log-out the next user begins anew") func afterALogOutTheNextUserBeginsAnew() async throws {
        let phone = try await TestInstallation.make()
        let (one, two) = (phone.asUser("u-1"), phone.asUser("u-2"))
        try await one.put([alias], at: t0)
        try await one.logOut(at: after(1))
        #expect(try await subject(phone) == nil)
        // A late request of the first user is refused for its time, and does not make the phone theirs again.
        #expect(await phone.problem { try await one.register(1, at: after(0.5)) }?.code == .superseded)
        #expect(await phone.problem { try await one.put([alias], at: after(0.5)) }?.code == .superseded)
        #expect(try await subject(phone) == nil)
        try await two.register(2, at: after(2))
        #expect(try await subject(phone) == "u-2")
        // A log-out of before the new user's registration leaves them there.
        try await two.put(nil, at: after(3))
        try await phone.logOut(at: after(1.5))
        #expect(try await subject(phone) == "u-2")
    }

    /// Many users at once over a new installation's token: one gets it, the others change nothing.
    @Test("Many users race over one token", arguments: [true, false])
    func manyUsersOverOneToken(isTimed: Bool) async throws {
        let root = try await TestInstallation.make()
        let registries = [root.database.registry, root.database.anotherRegistry()]
        for round in 0..<(TestScale.isLong ? 400 : 20) {
            let phone = root.another(round + 1)
            let winners = try await withThrowingTaskGroup(of: Int?.self) { group in
                for user in 0..<6 {
                    group.addTask {
                        let registration = TokenRegistration(
                            token: .sample(round * 10 + user),
                            observedAt: isTimed ? after(Double(user)) : nil
                        )
                        do {
                            _ = try await registries[user % 2].register(
                                registration,
                                in: TestInstallation.delivery,
                                of: phone.hash,
                                in: phone.scope,
                                by: "test",
                                claimant: .subject("u-\(user)", phone.hash)
                            )
                            return user
                        } catch let problem as Problem where problem.code == .notYours {
                            return nil
                        }
                    }
                }
                return try await group.compactMap(\.self).reduce(into: []) { $0.append($1) }
            }
            try #require(winners.count == 1)
            #expect(try await phone.token() == .sample(round * 10 + winners[0]))
            #expect(try await subject(phone) == "u-\(winners[0])")
            #expect(try await phone.events() == ["registered"])
        }
    }

    /// Users who take an installation over at once: the latest by time has it, and none of the aliases before.
    @Test("Many takeovers at once lead to one owner") func manyTakeOversAtOnce() async throws {
        let root = try await TestInstallation.make()
        for round in 0..<(TestScale.isLong ? 200 : 20) {
            let phone = root.another(round + 1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for user in 0..<6 {
                    group.addTask {
                        _ = await phone.problem {
                            try await phone.asUser("u-\(user)")
                                .put([.sample("userId", "u-\(user)")], at: after(Double(user)))
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await subject(phone) == "u-5")
            #expect(try await phone.record()?.aliases == Array(#"{"userId": ["u-5"]}"#.utf8))
            let rows = try await phone.column(
                "SELECT value FROM installation_aliases WHERE installation_hash = \(phone.hash.bytes)"
            )
            #expect(rows == ["u-5"])
        }
    }

    // MARK: Activities known by an alias

    @Test("An alias identity is its user's") func aliasIdentityIsItsUsers() async throws {
        let identity = try await TestIdentity.make()
        let phone = InstallationHash.sample(1)
        let (registry, scope) = (identity.database.registry, identity.scope)
        func post(_ token: Int, by claimant: Claimant, at time: Date? = nil) async throws -> RegistrationAnswer {
            try await registry.register(
                .sample(token: .sample(token), observedAt: time),
                alias: "match-7",
                owner: .installation(phone),
                in: scope,
                by: "test",
                claimant: claimant
            )
        }
        func end(by claimant: Claimant) async throws {
            try await registry.end(
                alias: "match-7",
                owner: .installation(phone),
                reason: .ended,
                observedAt: nil,
                in: scope,
                by: "test",
                claimant: claimant
            )
        }
        let (one, two) = (Claimant.subject("u-1", phone), Claimant.subject("u-2", phone))
        let first = try await post(1, by: one)
        for time in [nil, after(50), after(62)] {
            #expect(await identity.problem { try await post(2, by: two, at: time) }?.code == .notYours)
        }
        #expect(await identity.problem { try await end(by: two) }?.code == .notYours)
        #expect(try await registry.activity(first.activity.activityID, in: scope)?.token == .sample(1))
        // The control: the same user, the installation itself, a backend.
        #expect(try await post(3, by: one).outcome == .rotated)
        #expect(try await post(4, by: .installation(phone)).outcome == .rotated)
        #expect(try await post(5, by: .any).outcome == .rotated)
        try await end(by: one)
        // An activity that has ended is nobody's hindrance: the next one is the other user's.
        let next = try await post(6, by: two)
        #expect(next.outcome == .registered)
        #expect(await identity.problem { try await post(7, by: one) }?.code == .notYours)
        try await end(by: .installation(phone))
        #expect(try await registry.activity(next.activity.activityID, in: scope)?.token == nil)
    }
}
