import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import TestSupport
import Testing

@testable import RegistryStore

/// Many planners request one activity at the same time, at two instances. On each phone exactly one planner starts it.
@Suite(.serialized, .timeLimit(.minutes(15))) struct PlanRaceTests {
    private static let planners = 8
    private static let phones = 3
    private static let rounds = TestScale.isLong ? 10_000 : 300

    private static func make() async throws -> TestPlan {
        let plan = try await TestPlan.make()
        for number in 2...phones { try await plan.addPhone(number) }
        return plan
    }

    @Test func `One of several racing planners starts an activity on each phone, and the others wait`() async throws {
        let plan = try await Self.make()
        let registries = [plan.registry, plan.database.anotherRegistry()]
        for round in 1...Self.rounds {
            let request = plan.request(of: .sample("liveactivityId", "order-\(round)"))
            let entries = try await Self.race { planner in
                try await registries[planner % 2].plan(request, in: plan.scope, by: "sender").entries
            }
            for (hash, entries) in Dictionary(grouping: entries, by: \.installation) {
                let starts = entries.filter { $0.decision.action == "start" }.count
                let waits = entries.filter { $0.decision.waitReason == .leased }.count
                #expect(starts == 1 && waits == Self.planners - 1, "round \(round), \(hash?.description ?? "")")
            }
            #expect(entries.count == Self.planners * Self.phones)
        }
        #expect(try await plan.leaseEvents().count == Self.rounds * Self.phones)
    }

    @Test func `One of several racing planners renews each activity, and the others update it`() async throws {
        let plan = try await Self.make()
        let registries = [plan.registry, plan.database.anotherRegistry()]
        for round in 1...Self.rounds / 10 {
            let activity = try await plan.register("a-\(round)", token: 100 + round)
            try await plan.age("7 hours 40 minutes")
            var request = plan.request()
            TestPlan.renew(&request)
            let entries = try await Self.race { [request] planner in
                try await registries[planner % 2].plan(request, in: plan.scope, by: "sender").entries
            }.filter { $0.installation == plan.phone.hash }
            let actions = entries.map(\.decision.action).sorted()
            #expect(actions == ["renew"] + [String](repeating: "update", count: Self.planners - 1), "round \(round)")
            try await activity.end()
            try await plan.database.run("DELETE FROM start_leases")
        }
    }

    @Test func `Racing requests of one plan get the same lease`() async throws {
        let plan = try await Self.make()
        let registries = [plan.registry, plan.database.anotherRegistry()]
        for round in 1...Self.rounds / 10 {
            let request = plan.request("plan-\(round)", of: .sample("liveactivityId", "order-\(round)"))
            let entries = try await Self.race { [request] planner in
                try await registries[planner % 2].plan(request, in: plan.scope, by: "sender").entries
            }
            #expect(Set(entries.map(\.decision.lease?.id)).count == Self.phones)
            #expect(entries.allSatisfy { $0.decision.action == "start" })
        }
    }

    @Test func `A slightly later planner waits for the other's commit and gets no lease`() async throws {
        let plan = try await TestPlan.make()
        let held = try await HeldTransaction(Self.insertion(in: plan), in: plan.database, commits: true)
        async let step = plan.step()
        try await held.releaseOnceSomebodyWaits()
        #expect(try await step.waitReason == .leased)
    }

    /// The control: only the primary key prevents this.
    @Test func `Without the constraint, two planners start one activity`() async throws {
        let plan = try await TestPlan.make()
        try await plan.database.run("ALTER TABLE start_leases DROP CONSTRAINT start_leases_pkey")
        let held = try await HeldTransaction(Self.insertion(in: plan), in: plan.database, commits: true)
        _ = try await plan.start()
        try await held.release()
        #expect(try await plan.leaseCount() == 2)
    }

    private static func insertion(in plan: TestPlan) throws -> SQL {
        let now = Timestamp(.minutesAgo(0))
        var changes = LeaseChanges(now: now, scope: plan.scope, who: "test")
        let lease = Lease(
            installation: plan.phone.hash,
            alias: plan.order,
            id: LeaseID(stored: [UInt8](repeating: 7, count: 16)),
            planID: nil,
            attributesType: TestInstallation.types[0],
            leasedAt: now,
            leasedUntil: now + .seconds(3600),
            attempts: [now]
        )
        changes.write(lease, nil, subject: nil)
        return try #require(changes.statements.first)
    }

    private static func race<Element: Sendable>(
        _ plan: @escaping @Sendable (Int) async throws -> [Element]
    ) async throws -> [Element] { try await concurrently(0..<planners, plan).flatMap(\.self) }
}

/// Users race for a record at two instances. `OwnerMatrix` has the rules about owners.
@Suite(.timeLimit(.minutes(15))) struct OwnerRaceTests {
    private static let rounds = TestScale.isLong ? 400 : 25
    private static let users = 6
    private let t0 = Date.minutesAgo(60)

    /// - Returns: the users with a call that was not refused as another user's.
    private func winners(
        tries: Int = 1,
        _ call: @escaping @Sendable (_ user: Int, _ number: Int) async throws -> Void
    ) async throws -> [Int] {
        try await concurrently(0..<Self.users) { user -> Int? in
            var winner: Int?
            for number in 0..<tries {
                do {
                    try await call(user, number)
                    winner = user
                } catch let problem as Problem where problem.code == .notYours { continue }
            }
            return winner
        }.compactMap(\.self)
    }

    @Test(arguments: [true, false])
    func `One of many racing users becomes the owner of an activity`(isTimed: Bool) async throws {
        let root = try await TestActivity.make()
        let instances = [root, root.elsewhere()]
        for round in 0..<Self.rounds {
            let activities = instances.map { $0.another("contested-\(round)") }
            let winners = try await winners(tries: 3) { user, number in
                let (claimant, token) = (Claimant.subject(UTF8Text("u-\(user)"), nil), number * 10 + user)
                let time = isTimed ? t0 + Double(token) : nil
                try await activities[user % 2].register(round * 100 + token, at: time, claimant: claimant)
            }
            try #require(winners.count == 1)
            #expect(try await activities[0].currentToken() == .sample(round * 100 + 20 + winners[0]))
            #expect(try await activities[0].events() == ["registered", "rotated", "rotated"])
        }
    }

    @Test(arguments: [true, false])
    func `One of many racing users becomes the owner of an installation`(isTimed: Bool) async throws {
        let root = try await TestInstallation.make()
        let databases = [root.database, root.database.on(root.database.anotherRegistry())]
        for round in 0..<Self.rounds {
            let phones = databases.map { TestInstallation(database: $0, scope: root.scope, hash: .sample(round + 1)) }
            let winners = try await winners { user, _ in
                let phone = phones[user % 2].asUser(UTF8Text("u-\(user)"))
                try await phone.register(round * 10 + user, at: isTimed ? t0 + Double(user) : nil)
            }
            try #require(winners.count == 1)
            #expect(try await phones[0].token() == .sample(round * 10 + winners[0]))
            #expect(try await phones[0].record()?.subject == UTF8Text("u-\(winners[0])"))
            #expect(try await phones[0].events() == ["registered"])
        }
    }

    @Test func `Concurrent takeovers lead to one owner`() async throws {
        let root = try await TestInstallation.make()
        for round in 0..<Self.rounds {
            let phone = root.another(round + 1)
            _ = try await winners { user, _ in
                let (name, time) = ("u-\(user)", t0 + Double(user))
                _ = await phone.problem {
                    try await phone.asUser(UTF8Text(name)).put([.sample("userId", name)], at: time)
                }
            }
            #expect(try await phone.record()?.subject == "u-5")
            #expect(try await phone.record()?.aliases == Array(#"{"userId": ["u-5"]}"#.utf8))
            let rows: SQL = "SELECT value FROM installation_aliases WHERE installation_hash = \(phone.hash.bytes)"
            #expect(try await phone.column(rows) == ["u-5"])
        }
    }
}
