import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

/// Users of installations: assignment, takeovers and races. `OwnerMatrix` has the other rules.
@Suite(.timeLimit(.minutes(15))) struct InstallationOwnerTests {
    private let t0 = Date.minutesAgo(60)
    private let alias = Alias.sample("userId", "u-1")

    private func after(_ minutes: Double) -> Date { t0.addingTimeInterval(minutes * 60) }

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

    private func subject(_ phone: TestInstallation) async throws -> UTF8Text? { try await phone.record()?.subject }

    @Test(arguments: Change.allCases)
    func `The first call assigns the installation to the user and clears nothing`(change: Change) async throws {
        let phone = try await TestInstallation.make()
        try await phone.asClient.put([alias], at: t0)
        try await change.make(on: phone.asUser("u-1"), at: after(1))
        let user: UTF8Text? = change == .logOut ? nil : "u-1"
        #expect(try await subject(phone) == user)
        #expect(try await phone.record()?.aliases != nil || user == nil)
        let fresh = phone.another(2)
        try await change.make(on: fresh.asUser("u-1"), at: after(2))
        #expect(try await subject(fresh) == user)
    }

    @Test func `Aliases cleared by another user's late registration are reported as changed`() async throws {
        let phone = try await TestInstallation.make()
        let (one, two) = (phone.asUser("u-1"), phone.asUser("u-2"))
        try await one.put([alias], at: t0)
        try await one.put(nil, at: after(10))
        let registry = phone.registry
        let position = try await registry.presentChangePosition()
        #expect(await phone.problem { try await two.put(nil, at: after(5)) }?.code == .superseded)
        #expect(try await subject(phone) == "u-1")
        #expect(try await phone.record()?.aliases == nil)
        let told = try await registry.changes(after: position, limit: 10, in: phone.scope).changes
        #expect(told.first?.type == "aliases")
        #expect(told.first?.aliases.map { String(decoding: $0, as: UTF8.self).contains(alias.value.string) } == true)
        #expect(try await !phone.events().contains("taken-over"))
    }

    @Test func `A takeover clears the aliases and keeps the token`() async throws {
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
        // The token stays with the device, and the new user's aliases find it.
        #expect(try await phone.token() == .sample(1))
        try await two.put([.sample("userId", "u-2")], at: after(2))
        #expect(try await phone.found(.sample("userId", "u-2")) == [.sample(1)])
        try await two.register(2, at: after(3))
        #expect(await phone.problem { try await one.register(3, at: after(4)) }?.code == .notYours)
        try await two.put([.sample("userId", "u-2")], at: after(2))
        #expect(try await phone.found(.sample("userId", "u-2")) == [.sample(2)])
        #expect(try await phone.events().filter { $0 == "taken-over" }.count == 1)
    }

    @Test func `Every order of the users' requests leads to the same owner`() async throws {
        let steps = [("u-1", 1.0), ("u-2", 2), ("u-2", 3), ("u-1", 4)]
        var states: Set<[String]> = []
        for order in permutations(of: Array(steps.indices)) {
            let phone = try await TestInstallation.make(sharing: "owners", order.map(UInt8.init))
            for index in order {
                let (user, minute) = steps[index]
                let alias = Alias.sample("userId", "\(user)-\(minute)")
                _ = await phone.problem { try await phone.asUser(UTF8Text(user)).put([alias], at: after(minute)) }
            }
            let record = try await phone.record()
            states.insert([record?.subject?.string ?? "", String(decoding: record?.aliases ?? [], as: UTF8.self)])
        }
        #expect(states == [["u-1", #"{"userId": ["u-1-4.0"]}"#]])
    }

    @Test(arguments: [true, false])
    func `One of many racing users registers the token`(isTimed: Bool) async throws {
        let root = try await TestInstallation.make()
        let registries = [root.registry, root.database.anotherRegistry()]
        for round in 0..<(TestScale.isLong ? 400 : 20) {
            let phone = root.another(round + 1)
            let winners = try await withThrowingTaskGroup(of: Int?.self) { group in
                for user in 0..<6 {
                    group.addTask {
                        let database = root.database.on(registries[user % 2])
                        let caller = TestInstallation(database: database, scope: root.scope, hash: phone.hash)
                        let time = isTimed ? after(Double(user)) : nil
                        do {
                            try await caller.asUser("u-\(user)").register(round * 10 + user, at: time)
                            return user
                        } catch let problem as Problem where problem.code == .notYours { return nil }
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

    @Test func `Concurrent takeovers lead to one owner`() async throws {
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
            let rows: SQL = "SELECT value FROM installation_aliases WHERE installation_hash = \(phone.hash.bytes)"
            #expect(try await phone.column(rows) == ["u-5"])
        }
    }
}
