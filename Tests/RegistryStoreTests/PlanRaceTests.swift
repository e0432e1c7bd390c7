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
        for number in 2...phones {
            let phone = plan.phone.another(number)
            try await phone.put([plan.user], at: nil)
            try await phone.register(number, at: nil)
        }
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
            let entries = try await Self.race { [request = plan.renewal()] planner in
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
        try await held.waitUntilSomebodyWaits()
        try await held.release()
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
    ) async throws -> [Element] {
        try await withThrowingTaskGroup(of: [Element].self) { group in
            for planner in 0..<planners { group.addTask { try await plan(planner) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }
}
