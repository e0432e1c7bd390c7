import Foundation
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

/// The renewal of an activity before its end, on Postgres. An activity `a-1` ends in 20 minutes.
@Suite struct RenewalTests {
    private static func make() async throws -> TestPlan {
        let plan = try await TestPlan.make()
        try await plan.register("a-1", token: 11)
        try await plan.age("7 hours 40 minutes")
        return plan
    }

    private static func step(of plan: TestPlan, _ planID: UTF8Text? = nil) async throws -> PlanDecision {
        let entries = try await plan.renewals(planID)
        guard entries.count == 1 else { throw TestPlan.Unexpected(entries: entries) }
        return entries[0].decision
    }

    @Test func `A renewal starts, updates the old activity until the new one has a token, and ends it then`()
        async throws
    {
        let plan = try await Self.make()
        guard case .start(.sample(1), let lease, let replaced) = try await Self.step(of: plan, "plan-1") else {
            throw TestPlan.Unexpected()
        }
        #expect(replaced?.activityID == .sample("a-1") && replaced?.token == .sample(11))
        let minutes = lease.leasedUntil.date.timeIntervalSinceNow / 60
        #expect(minutes > 9 && minutes <= 10)
        // A registration of the old activity does not complete the renewal.
        try await plan.register("a-1", token: 12)
        guard case .update(let old, lease.leasedUntil) = try await Self.step(of: plan, "plan-2") else {
            throw TestPlan.Unexpected()
        }
        #expect(old.token == .sample(12))
        #expect(try await Self.step(of: plan, "plan-1").lease?.id == lease.id)
        // The new activity has no token in its first minute.
        let item = ActivityRegistration.sample(token: nil, installation: plan.phone.hash, aliases: [plan.order])
        try await plan.tellFullState(item, of: ["a-1", "a-2"], at: .minutesAgo(0))
        #expect(try await plan.renewals().map(\.decision.action) == ["update", "wait"])
        try await plan.register("a-2", token: 13)
        // The plan is retried.
        for planID: UTF8Text? in ["plan-1", nil] {
            let steps = try await plan.renewals(planID).map(\.decision)
            #expect(steps.map(\.action) == ["end", "update"] && steps[1].updated?.activityID == .sample("a-2"))
        }
        #expect(try await plan.entries().map(\.decision.action) == ["update", "update"])
        #expect(try await plan.activity().tokens(plan.order) == [.sample(12), .sample(13)])
        try await plan.activity("a-1").end()
        #expect(try await Self.step(of: plan, "plan-1").updated?.activityID == .sample("a-2"))
        #expect(try await plan.leaseEvents() == ["lease-taken"])
    }

    @Test func `The user swipes the old activity away while the renewal is under way`() async throws {
        let plan = try await Self.make()
        #expect(try await Self.step(of: plan, "plan-1").action == "renew")
        try await plan.activity("a-1").end(reason: .dismissed)
        #expect(try await Self.step(of: plan, "plan-1") == .alert(.dismissed, nil))
        // The start push was already on its way.
        try await plan.register("a-2", token: 13)
        #expect(try await Self.step(of: plan, "plan-1").updated?.activityID == .sample("a-2"))
    }

    @Test func `One of two activities is renewed, regardless of the size of pages`() async throws {
        let plan = try await Self.make()
        try await plan.age("-7 hours -40 minutes")
        try await plan.register("a-2", token: 15)
        let other = plan.phone.another(2)
        try await other.put([plan.user], at: nil)
        try await other.register(2, at: nil)
        try await plan.age("7 hours 40 minutes")
        for limit in [1, 2, 100] {
            var (position, actions) = (ListPosition?.some(.start), [String]())
            while let place = position {
                var request = plan.renewal("plan")
                request.limit = limit
                let page = try await plan.registry.plan(request, after: place, in: plan.scope, by: "sender")
                actions += page.entries.map(\.decision.action)
                position = page.next
            }
            #expect(actions == ["update", "renew", "start"], "\(limit)")
        }
    }
}
