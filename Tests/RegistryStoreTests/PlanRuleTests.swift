import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite struct PlanRuleTests {
    /// The report began after the planner, so it ended the lease at a later time than the planner's.
    @Test(arguments: [true, false])
    func `A failure during a repetition of the plan is kept`(hasFailed: Bool) async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start("plan-1")
        let failure: SQL =
            hasFailed ? "failed_at = later, failure = 'x', retry_at = again" : "released_at = later"
        let feedback = try await HeldTransaction(
            """
            UPDATE start_leases SET leased_until = later, \(sql: failure)
            FROM (SELECT now() + interval '20 seconds' AS later, now() + interval '80 seconds' AS again) AS times
            """,
            in: plan.database,
            commits: true
        )
        async let step = plan.step("plan-1")
        try await feedback.waitUntilSomebodyWaits()
        try await feedback.release()
        if hasFailed {
            #expect(try await step.waitReason == .backOff)
            #expect(try await plan.count("SELECT count(*) FROM start_leases WHERE failed_at IS NOT NULL") == 1)
        } else {
            guard case .start(_, let anew, _) = try await step else { throw TestPlan.Unexpected(step: try await step) }
            #expect(anew.id != lease.id)
        }
    }

    @Test func `A late registration of an activity ended by a log-out frees no lease`() async throws {
        let plan = try await TestPlan.make()
        try await plan.phone.logOut(at: nil)
        try await plan.phone.put([plan.user], at: nil)
        try await plan.phone.register(2, at: nil)
        _ = try await plan.start("plan-1")
        await #expect(throws: Problem.self) { try await plan.register(at: .minutesAgo(10)) }
        #expect(try await plan.step("plan-2").waitReason == .leased)
    }

    // MARK: Rule 1

    @Test func `Rule 1: a running activity is updated under any lease`() async throws {
        let plan = try await TestPlan.make()
        _ = try await plan.start()
        try await plan.register(token: 11)
        let activity = try #require(try await plan.step().updated)
        #expect(activity.token == .sample(11))
        #expect(activity.activityID == .sample("a-1"))
        #expect(activity.installation == plan.phone.hash)
    }

    @Test func `Rule 1: every running activity is updated, also if no request named the phone`() async throws {
        let plan = try await TestPlan.make(startToken: nil)
        try await plan.register("a-1", token: 11)
        try await plan.register("a-2", token: 12)
        try await plan.activity("a-3").register(13, at: nil, aliases: [plan.order])
        #expect(try await plan.entries().map(\.step.updated?.token) == [.sample(11), .sample(12), .sample(13)])
    }

    @Test func `Rule 1: an activity without a token is a reason to wait a minute, and then to alert`() async throws {
        let plan = try await TestPlan.make()
        try await plan.phone.register(21, in: TestInstallation.device, at: nil)
        try await plan.register(token: nil)
        #expect(try await plan.step().waitReason == .tokenPending)
        try await plan.database.age("activities", ["created_at"], by: "61 seconds")
        #expect(try await plan.step() == .alert(.noUpdateToken, .sample(21)))
    }

    @Test func `Rule 1: the channel of the alias reaches an activity without a token`() async throws {
        let plan = try await TestPlan.make()
        let channel = try BroadcastChannel(id: "dHN0LXNyY2gtY2hubA==", storagePolicy: .none)
        _ = try await plan.registry.put(channel, for: plan.order, in: plan.scope, by: "sender")
        _ = try await plan.start()
        try await plan.register(token: nil)
        for _ in 1...2 {
            #expect(try await plan.step() == .none(.channel))
            try await plan.database.age("activities", ["created_at"], by: "61 seconds")
        }
        try await plan.register(token: 11)
        #expect(try await plan.step().updated?.token == .sample(11))
    }

    @Test(arguments: [(ActivityPushType.channel, PlanReason.channel), (.appOnly, .noPush)])
    func `Rule 1: an activity without a token by design is not waited for`(
        _ type: ActivityPushType,
        _ reason: PlanReason
    ) async throws {
        let plan = try await TestPlan.make()
        _ = try await plan.start()
        var registration = ActivityRegistration.sample(token: nil, installation: plan.phone.hash, aliases: [plan.order])
        registration.facts.pushType = type
        let item = FullState.Item(activityID: .sample("a-1"), registration: registration)
        _ = try await plan.tellFullState(of: plan.phone.hash, [item], at: .minutesAgo(0))
        #expect(try await plan.step() == .none(reason))
        try await plan.database.age("activities", ["created_at"], by: "61 seconds")
        #expect(try await plan.step() == .none(reason))
        try await plan.register(token: 11)
        #expect(try await plan.step().updated?.token == .sample(11))
    }

    @Test func `Rule 1: an activity with a dead token is not started again`() async throws {
        let plan = try await TestPlan.make()
        try await plan.register(token: 11, at: .minutesAgo(2))
        try await plan.phone.mark(11, dead: .minutesAgo(1))
        try await plan.database.run("UPDATE activities SET withheld = 'taken-over'")
        try await plan.database.age("activities", ["created_at"], by: "61 seconds")
        #expect(try await plan.step() == .alert(.noUpdateToken, nil))
        #expect(try await plan.leaseCount() == 0)
    }

    // MARK: Rule 2

    @Test func `Rule 2: an activity dismissed by the user is not started again unless the sender asks`() async throws {
        let plan = try await TestPlan.make()
        try await plan.register().end(reason: .dismissed)
        #expect(try await plan.step() == .alert(.dismissed, nil))
        #expect(try await plan.step { $0.restartsDismissed = true }.action == "start")
    }

    @Test func `Rule 2: an activity ended by the app may be started again`() async throws {
        let plan = try await TestPlan.make()
        try await plan.register().end(reason: .ended)
        _ = try await plan.start()
    }

    @Test func `Rule 2: an activity missing from a full state was not dismissed by the user`() async throws {
        let plan = try await TestPlan.make()
        let activity = try await plan.register(at: .minutesAgo(2))
        try await plan.tellFullState(nil, at: .minutesAgo(1))
        #expect(try await activity.record()?.status.state == .dismissed)
        _ = try await plan.start()
    }

    @Test func `Rule 2: an activity newer than the dismissed one decides`() async throws {
        let plan = try await TestPlan.make()
        try await plan.register("a-1", at: .minutesAgo(5)).end(reason: .dismissed)
        try await plan.register("a-2", token: 12, at: .minutesAgo(4)).end(reason: .ended)
        _ = try await plan.start()
    }

    @Test func `Rule 2: a dismissal counts while its tombstone is kept`() async throws {
        let plan = try await TestPlan.make()
        try await plan.register().end(reason: .dismissed)
        let back: [(days: String, isDismissed: Bool)] = [("6 days", true), ("1 day 8 hours", false)]
        for (days, isDismissed) in back {
            try await plan.database.age("activities", ["started_at", "expires_at", "ended_at"], by: days)
            if isDismissed { #expect(try await plan.step() == .alert(.dismissed, nil)) }
        }
        _ = try await plan.start()
    }

    @Test func `Rule 2: an activity that iOS ended before is not dismissed`() async throws {
        let plan = try await TestPlan.make()
        try await plan.register()
        try await plan.age("8 hours")
        try await plan.activity().end(reason: .dismissed)
        _ = try await plan.start()
    }

    // MARK: Rule 3

    @Test func `Rule 3: a lease is for one alias on one phone`() async throws {
        let plan = try await TestPlan.make()
        let other = plan.phone.another(2)
        try await other.put([plan.user], at: nil)
        try await other.register(2, at: nil)
        #expect(try await plan.entries().map(\.step.action) == ["start", "start"])
        let others = try await plan.entries(of: .sample("liveactivityId", "order-43"))
        #expect(others.map(\.step.action) == ["start", "start"])
        #expect(try await plan.leaseCount() == 4)
    }

    // MARK: Rule 4

    @Test func `Rule 4: failures prevent starts for 1 minute, then 5 minutes, then the rest of a day`() async throws {
        let plan = try await TestPlan.make()
        for (attempt, minutes) in [(1, 1), (2, 5)] {
            let lease = try await plan.start()
            #expect(lease.attempt == attempt)
            try await plan.report(503, lease)
            let rest = try await plan.backOff()
            #expect(rest > Double(minutes) - 0.5)
            #expect(rest <= Double(minutes))
            try await plan.pass(minutes)
        }
        try await plan.report(503, try await plan.start())
        #expect(try await plan.step() == .alert(.startFailed, nil))
        try await plan.pass(20 * 60)
        #expect(try await plan.step() == .alert(.startFailed, nil))
        try await plan.pass(4 * 60)
        #expect(try await plan.start().attempt <= 3)
    }

    @Test func `Rule 4: a start followed by its activity is not a failed attempt`() async throws {
        let plan = try await TestPlan.make()
        for number in 1...4 {
            #expect(try await plan.start().attempt == 1)
            try await plan.register("a-\(number)", token: 10 + number).end()
        }
    }

    // MARK: Rules 5 and 6

    @Test func `Rule 5: a start token without a recent confirmation is not used`() async throws {
        let plan = try await TestPlan.make()
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
        try await plan.phone.mark(1, dead: .minutesAgo(1))
        #expect(try await plan.step() == .none(.noStartToken))
        #expect(try await plan.leaseCount() == 0)
    }

    // MARK: Installations

    @Test func `An installation with the alias itself needs no further alias`() async throws {
        let plan = try await TestPlan.make()
        try await plan.phone.put([plan.order], at: nil)
        #expect(try await plan.entries { $0.to = [] }.map(\.step.action) == ["start"])
        // An installation with both names has one entry.
        try await plan.phone.put([plan.order, plan.user], at: nil)
        #expect(try await plan.entries().map(\.step.action) == ["wait"])
        #expect(try await plan.entries { $0.to = [.sample("userId", "u-8")] }.count == 1)
    }

    @Test func `Each phone is on one page, and keeps its lease when a page is repeated`() async throws {
        let plan = try await TestPlan.make()
        for number in 2...7 {
            let phone = plan.phone.another(number)
            try await phone.put([plan.user], at: nil)
            try await phone.register(number, at: nil)
        }
        for number in 1...3 {
            try await plan.activity("b-\(number)").register(30 + number, at: nil, aliases: [plan.order])
        }
        try await plan.register("a-1")
        for limit in [1, 2, 3, 4, 100] {
            var (position, actions, installations) = (PlanPosition?.some(.start), [String](), [InstallationHash]())
            while let place = position {
                var request = plan.request("plan")
                request.limit = limit
                let page = try await plan.registry.plan(request, after: place, in: plan.scope, by: "sender")
                #expect(page.entries.count <= limit)
                actions += page.entries.map(\.step.action)
                installations += page.entries.compactMap(\.installation)
                position = page.next
            }
            #expect(actions.count { $0 == "start" } == 6)
            #expect(actions.count { $0 == "update" } == 4)
            #expect(installations.count == 7)
            #expect(Set(installations).count == 7)
        }
        #expect(try await plan.leaseCount() == 6)
    }
}
