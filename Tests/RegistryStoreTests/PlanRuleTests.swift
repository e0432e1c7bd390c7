import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

@Suite struct PlanRuleTests {
    private let plan: TestPlan

    init() async throws { plan = try await TestPlan.make() }

    /// The report began after the planner, so it ended the lease at a later time than the planner's.
    @Test(arguments: [true, false])
    func `A failure during a repetition of the plan is kept`(hasFailed: Bool) async throws {
        let lease = try await plan.start("plan-1")
        let failure = hasFailed ? "failed_at = later, failure = 'x', retry_at = again" : "released_at = later"
        let feedback = try await HeldTransaction(
            """
            UPDATE start_leases SET leased_until = later, \(unescaped: failure)
            FROM (SELECT now() + interval '20 seconds' AS later, now() + interval '80 seconds' AS again) AS times
            """,
            in: plan.database,
            commits: true
        )
        async let step = plan.step("plan-1")
        try await feedback.releaseOnceSomebodyWaits()
        if hasFailed {
            #expect(try await step.waitReason == .backOff)
            #expect(try await plan.count("SELECT count(*) FROM start_leases WHERE failed_at IS NOT NULL") == 1)
        } else {
            guard case .start(_, let anew, _) = try await step else { throw TestPlan.Unexpected(step: try await step) }
            #expect(anew.id != lease.id)
        }
    }

    @Test func `Rule 1: every running activity is updated, also if no request named the phone`() async throws {
        let plan = try await TestPlan.make(startToken: nil)
        try await plan.register("a-1", token: 11)
        try await plan.register("a-2", token: 12)
        try await plan.activity("a-3").register(13, at: nil, aliases: [plan.order])
        #expect(try await plan.entries().map(\.decision.updated?.token) == [.sample(11), .sample(12), .sample(13)])
    }

    struct WithoutToken: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// In the first minute, and after it.
        let actions: [String]
        var reason: PlanReason?
        var pushType: ActivityPushType?
        var setUp: @Sendable (TestPlan) async throws -> Void = { _ in }
    }

    static let withoutToken: [WithoutToken] = [
        WithoutToken(testDescription: "no token yet", actions: ["wait", "alert"]),
        WithoutToken(testDescription: "a channel of the alias", actions: ["none", "none"], reason: .channel) {
            let channel = BroadcastChannel(stored: "dHN0LXNyY2gtY2hubA==", storagePolicy: .none)
            _ = try await $0.registry.put(channel, for: $0.order, in: $0.scope, by: "sender")
        },
        WithoutToken(testDescription: "by design", actions: ["none", "none"], reason: .channel, pushType: .channel),
        WithoutToken(testDescription: "app only", actions: ["none", "none"], reason: .noPush, pushType: .appOnly),
    ]

    @Test(arguments: withoutToken)
    func `Rule 1: an activity without a token has its reason, and is updated once it has one`(_ test: WithoutToken)
        async throws
    {
        try await test.setUp(plan)
        try await plan.phone.register(21, in: TestInstallation.device, at: nil)
        _ = try await plan.start()
        var registration = plan.item
        registration.facts.pushType = test.pushType
        try await plan.tellFullState(registration, at: .minutesAgo(0))
        for action in test.actions {
            let step = try await plan.step()
            #expect(step.action == action)
            if action == "wait" { #expect(step.waitReason == .tokenPending) }
            if action == "alert" { #expect(step == .alert(.noUpdateToken, .sample(21))) }
            if let reason = test.reason { #expect(step == .none(reason)) }
            try await plan.database.age("activities", ["created_at"], by: "61 seconds")
        }
        try await plan.register(token: 11)
        #expect(try await plan.step().updated?.token == .sample(11))
    }

    @Test func `Rule 1: an activity with a dead token is not started again`() async throws {
        try await plan.register(token: 11, at: .minutesAgo(2))
        _ = try await plan.phone.report(11, 410)
        try await plan.database.age("activities", ["created_at"], by: "61 seconds")
        #expect(try await plan.step() == .alert(.noUpdateToken, nil))
        #expect(try await plan.leaseCount() == 0)
    }

    static let dismissals: [PlanCase] = [
        .yes("dismissed by the user") { try await $0.register().end(reason: .dismissed) },
        .no("ended by the app") { try await $0.register().end(reason: .ended) },
        .no("missing from a full state") {
            try await $0.register(at: .minutesAgo(2))
            try await $0.tellFullState(nil, at: .minutesAgo(1))
        },
        .no("dismissed before a newer activity ended") {
            try await $0.register("a-1", at: .minutesAgo(5)).end(reason: .dismissed)
            try await $0.register("a-2", token: 12, at: .minutesAgo(4)).end(reason: .ended)
        },
        .yes("dismissed, with a tombstone") {
            try await $0.register().end(reason: .dismissed)
            try await $0.database.age("activities", ["started_at", "expires_at", "ended_at"], by: "6 days")
        },
        .no("dismissed, and the tombstone's time is over") {
            try await $0.register().end(reason: .dismissed)
            try await $0.database.age("activities", ["started_at", "expires_at", "ended_at"], by: "7 days 8 hours")
        },
        .no("dismissed after iOS had ended it") {
            try await $0.register()
            try await $0.age("8 hours")
            try await $0.activity().end(reason: .dismissed)
        },
    ]

    @Test(arguments: dismissals)
    func `Rule 2: only an activity dismissed by the user needs the sender's wish`(_ test: PlanCase) async throws {
        try await test.after(plan)
        if test.isTrue { #expect(try await plan.step() == .alert(.dismissed, nil)) }
        #expect(try await plan.step { $0.restartsDismissed = test.isTrue }.action == "start")
    }

    @Test func `Rule 5: a start token without a recent confirmation is not used`() async throws {
        try await plan.database.run("UPDATE installation_tokens SET confirmed_at = earlier(confirmed_at, '2 days')")
        let isYoung: (inout PlanRequest) -> Void = { $0.maxStartTokenAge = .seconds(86_400) }
        #expect(try await plan.step(change: isYoung) == .none(.startUnconfirmed))
        try await plan.phone.register(21, in: TestInstallation.device, at: nil)
        #expect(try await plan.step(change: isYoung) == .alert(.startUnconfirmed, .sample(21)))
        #expect(try await plan.step().action == "start")
    }

    @Test func `Rule 5: a start token that is dead or of another type starts nothing`() async throws {
        let plan = try await TestPlan.make(startToken: nil)
        try await plan.phone.register(1, at: .minutesAgo(2))
        try await plan.phone.register(2, in: .start(TestInstallation.types[1]), at: nil)
        _ = try await plan.phone.report(1, 410)
        #expect(try await plan.step() == .none(.noStartToken))
        #expect(try await plan.leaseCount() == 0)
    }

    @Test func `An installation with the alias itself needs no further alias`() async throws {
        try await plan.phone.put([plan.order], at: nil)
        #expect(try await plan.entries { $0.to = [] }.map(\.decision.action) == ["start"])
        // An installation with both names has one entry.
        try await plan.phone.put([plan.order, plan.user], at: nil)
        #expect(try await plan.entries().map(\.decision.action) == ["wait"])
        #expect(try await plan.entries { $0.to = [.sample("userId", "u-8")] }.count == 1)
    }

    @Test func `Each phone is on one page, and keeps its lease when a page is repeated`() async throws {
        for number in 2...7 { try await plan.addPhone(number) }
        for number in 1...3 {
            try await plan.activity("b-\(number)").register(30 + number, at: nil, aliases: [plan.order])
        }
        try await plan.register("a-1")
        for limit in [1, 2, 3, 4, 100] {
            var request = plan.request("plan")
            request.limit = limit
            let pages = try await plan.pages(of: request).map(\.entries)
            #expect(pages.allSatisfy { $0.count <= limit })
            let actions = pages.joined().map(\.decision.action)
            let installations = pages.joined().compactMap(\.installation)
            #expect(actions.count { $0 == "start" } == 6)
            #expect(actions.count { $0 == "update" } == 4)
            #expect(installations.count == 7)
            #expect(Set(installations).count == 7)
        }
        #expect(try await plan.leaseCount() == 6)
    }
}

/// The renewal of an activity before its end, on Postgres. An activity `a-1` ends in 20 minutes.
@Suite struct RenewalTests {
    private let plan: TestPlan

    init() async throws {
        plan = try await TestPlan.make()
        try await plan.register("a-1", token: 11)
        try await plan.age("7 hours 40 minutes")
    }

    @Test func `A renewal starts, updates the old activity until the new one has a token, and ends it then`()
        async throws
    {
        guard case .start(.sample(1), let lease, let replaced) = try await plan.step("plan-1", change: TestPlan.renew)
        else { throw TestPlan.Unexpected() }
        #expect(replaced?.activityID == .sample("a-1") && replaced?.token == .sample(11))
        let minutes = lease.leasedUntil.date.timeIntervalSinceNow / 60
        #expect(minutes > 9 && minutes <= 10)
        // A registration of the old activity does not complete the renewal.
        try await plan.register("a-1", token: 12)
        guard case .update(let old, lease.leasedUntil) = try await plan.step("plan-2", change: TestPlan.renew) else {
            throw TestPlan.Unexpected()
        }
        #expect(old.token == .sample(12))
        #expect(try await plan.step("plan-1", change: TestPlan.renew).lease?.id == lease.id)
        // The new activity has no token in its first minute.
        try await plan.tellFullState(plan.item, of: ["a-1", "a-2"], at: .minutesAgo(0))
        #expect(try await plan.entries(change: TestPlan.renew).map(\.decision.action) == ["update", "wait"])
        try await plan.register("a-2", token: 13)
        // The plan is retried.
        for planID: UTF8Text? in ["plan-1", nil] {
            let steps = try await plan.entries(planID, change: TestPlan.renew).map(\.decision)
            #expect(steps.map(\.action) == ["end", "update"] && steps[1].updated?.activityID == .sample("a-2"))
        }
        #expect(try await plan.entries().map(\.decision.action) == ["update", "update"])
        #expect(try await plan.activity().tokens(plan.order) == [.sample(12), .sample(13)])
        try await plan.activity("a-1").end()
        #expect(try await plan.step("plan-1", change: TestPlan.renew).updated?.activityID == .sample("a-2"))
        #expect(try await plan.leaseEvents() == ["lease-taken"])
    }

    @Test func `The user swipes the old activity away while the renewal is under way`() async throws {
        #expect(try await plan.step("plan-1", change: TestPlan.renew).action == "renew")
        try await plan.activity("a-1").end(reason: .dismissed)
        #expect(try await plan.step("plan-1", change: TestPlan.renew) == .alert(.dismissed, nil))
        // The start push was already on its way.
        try await plan.register("a-2", token: 13)
        #expect(try await plan.step("plan-1", change: TestPlan.renew).updated?.activityID == .sample("a-2"))
    }

    @Test func `One of two activities is renewed, regardless of the size of pages`() async throws {
        try await plan.age("-7 hours -40 minutes")
        try await plan.register("a-2", token: 15)
        try await plan.addPhone(2)
        try await plan.age("7 hours 40 minutes")
        for limit in [1, 2, 100] {
            var request = plan.request("plan")
            TestPlan.renew(&request)
            request.limit = limit
            let actions = try await plan.pages(of: request).flatMap(\.entries).map(\.decision.action)
            #expect(actions == ["update", "renew", "start"], "\(limit)")
        }
    }
}
