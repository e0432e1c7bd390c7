import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

/// The ends of a lease: each that frees it, some that do not, and the events that tell of them.
@Suite struct LeaseTests {
    @Test("The same plan again has the same lease, and another plan has none") func theSamePlanHasTheSameLease()
        async throws
    {
        let plan = try await TestPlan.make()
        let lease = try await plan.start("plan-1")
        let written: SQL = "SELECT touched_at::text FROM start_leases"
        let before = try await plan.phone.column(written)
        #expect(try await plan.start("plan-1") == lease)
        // R1: the answer that was lost may have been lost with the commit.
        #expect(try await plan.phone.column(written) != before)
        #expect(try await plan.step("plan-2").waitReason == .leased)
        #expect(try await plan.step().waitReason == .leased)
        #expect(try await plan.leaseEvents() == ["lease-taken"])
    }

    @Test("A plan without a name that is asked again has no lease") func aPlanWithoutANameHasNoLeaseAgain() async throws
    {
        let plan = try await TestPlan.make()
        _ = try await plan.start()
        #expect(try await plan.step().waitReason == .leased)
    }

    @Test("A third attempt is handed out again to the same plan") func aThirdAttemptIsHandedOutAgain() async throws {
        let plan = try await TestPlan.make()
        for _ in 1...2 {
            _ = try await plan.start("plan-1")
            try await plan.pass(61)
        }
        let third = try await plan.start("plan-1")
        #expect(try await plan.start("plan-1") == third && third.attempt == 3)
    }

    @Test("A registration under the alias frees the lease") func aRegistrationFreesTheLease() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.register().end()
        let next = try await plan.start()
        #expect(next.id != lease.id && next.attempt == 1)
    }

    @Test("An item of a full state frees the lease, without a token too") func aFullStateFreesTheLease() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.register(token: nil).end()
        #expect(try await plan.start().id != lease.id)
    }

    @Test("A registration that was there before the lease frees nothing, nor does its late repetition")
    func anEarlierRegistrationFreesNothing() async throws {
        let plan = try await TestPlan.make()
        let activity = try await plan.register(at: .minutesAgo(2))
        try await activity.end()
        _ = try await plan.start()
        let late = await activity.problem { try await plan.register(at: .minutesAgo(2)) }
        #expect(late?.code == .activityEnded)
        #expect(try await plan.step().waitReason == .leased)
    }

    @Test("Nor does the late repetition of one that fell out, or has expired", arguments: [false, true])
    func aRepetitionOfWhatIsOverFreesNothing(hasExpired: Bool) async throws {
        let plan = try await TestPlan.make()
        let activity = try await plan.register(at: .minutesAgo(2))
        if hasExpired {
            try await activity.age(by: "9 hours")
        } else {
            try await plan.tellFullState(nil, at: .minutesAgo(1))
        }
        _ = try await plan.start()
        _ = try? await plan.register(at: .minutesAgo(hasExpired ? 9 * 60 + 2 : 2))
        #expect(try await plan.step().waitReason == .leased)
    }

    @Test("What is given back when it is over stays an attempt") func aLeaseThatIsOverIsNotReleased() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.pass(61)
        try await plan.database.registry.release(lease.id, in: plan.scope, by: "sender")
        #expect(try await plan.start().attempt == 2)
        #expect(try await plan.leaseEvents() == ["lease-taken", "lease-taken"])
    }

    @Test("The late end of an activity that fell out frees nothing") func aLateEndFreesNothing() async throws {
        let plan = try await TestPlan.make()
        let activity = try await plan.register(at: .minutesAgo(2))
        try await plan.tellFullState(nil, at: .minutesAgo(1))
        _ = try await plan.start()
        try await activity.end()
        #expect(try await plan.step().waitReason == .leased)
    }

    @Test("A registration under another alias frees nothing") func anotherAliasFreesNothing() async throws {
        let plan = try await TestPlan.make()
        _ = try await plan.start()
        try await plan.activity("b-1").register(
            12,
            at: nil,
            installation: plan.phone.hash,
            aliases: [.sample("liveactivityId", "order-43")]
        )
        #expect(try await plan.step().waitReason == .leased)
    }

    @Test("A reported failure frees the lease, a success does not", arguments: [410, 400, 429, 503])
    func aReportedFailureFreesTheLease(_ status: Int) async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.report(200, lease)
        #expect(try await plan.step().waitReason == .leased)
        try await plan.report(status, lease, reason: "BadTopic")
        let failure = try await plan.phone.column("SELECT failure FROM start_leases")
        #expect(failure == ["\(status) BadTopic"])
        #expect(try await plan.leaseEvents() == ["lease-taken", "start-failed"])
        try await plan.phone.register(3, at: nil)
        try await plan.pass(1)
        #expect(try await plan.start().attempt == 2)
    }

    @Test("A failure that is reported again is written, and counts once") func aFailureCountsOnce() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.report(503, lease)
        let written: SQL = "SELECT touched_at::text FROM start_leases"
        let before = try await plan.phone.column(written)
        try await plan.report(500, lease)
        #expect(try await plan.phone.column(written) != before)
        #expect(try await plan.phone.column("SELECT failure FROM start_leases") == ["503"])
        #expect(try await plan.leaseEvents() == ["lease-taken", "start-failed"])
    }

    @Test("Late feedback of an old lease frees nothing newer, nor does giving it back") func lateFeedbackFreesNothing()
        async throws
    {
        let plan = try await TestPlan.make()
        let old = try await plan.start()
        try await plan.pass(61)
        let lease = try await plan.start()
        try await plan.report(503, old)
        try await plan.database.registry.release(old.id, in: plan.scope, by: "sender")
        #expect(try await plan.step() == .wait(.leased, retryAt: lease.leasedUntil))
    }

    @Test("A lease that is given back can be taken at once, and was no attempt") func aLeaseIsGivenBack() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.database.registry.release(lease.id, in: plan.scope, by: "sender")
        try await plan.database.registry.release(lease.id, in: plan.scope, by: "sender")
        let next = try await plan.start()
        #expect(next.id != lease.id && next.attempt == 1)
        #expect(try await plan.leaseEvents() == ["lease-taken", "lease-released", "lease-taken"])
    }

    @Test("A lease that failed is not undone by giving it back") func aFailureIsNotUndone() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.report(503, lease)
        try await plan.database.registry.release(lease.id, in: plan.scope, by: "sender")
        #expect(try await plan.step().waitReason == .backOff)
    }

    @Test("A log-out takes the lease along, and one that comes late does not take the next user's")
    func aLogOutTakesTheLeaseAlong() async throws {
        let plan = try await TestPlan.make()
        _ = try await plan.start()
        let time = Date.minutesAgo(-1)
        try await plan.phone.logOut(at: time)
        #expect(try await plan.leaseCount() == 0)
        try await plan.phone.put([plan.user], at: time.addingTimeInterval(1))
        try await plan.phone.register(2, at: time.addingTimeInterval(1))
        _ = try await plan.start()
        try await plan.phone.logOut(at: time)
        #expect(try await plan.leaseCount() == 1)
    }

    @Test("A user who takes the installation over gives its leases back") func aTakeoverGivesTheLeaseBack() async throws
    {
        let plan = try await TestPlan.make()
        try await plan.phone.asUser("u-7").put([plan.user], at: nil)
        _ = try await plan.start()
        try await plan.phone.asUser("u-7").put([plan.user], at: nil)
        #expect(try await plan.leaseCount() == 1)
        try await plan.phone.asUser("u-8").put([plan.user], at: nil)
        #expect(try await plan.leaseCount() == 0)
        _ = try await plan.start()
        let state = FullState(observedAt: .minutesAgo(0), items: [])
        let claimant = Claimant.subject("u-9", plan.phone.hash)
        _ = try await plan.database.registry.apply(
            state,
            of: plan.phone.hash,
            in: plan.scope,
            by: "test",
            claimant: claimant
        )
        #expect(try await plan.leaseCount() == 0)
    }

    @Test("An erasure takes leases along, and names nobody in their events", arguments: ["order", "user", "phone"])
    func anErasureTakesLeasesAlong(_ what: String) async throws {
        let plan = try await TestPlan.make()
        _ = try await plan.start()
        let subject: ErasureSubject =
            switch what {
            case "order": .alias(plan.order)
            case "user": .alias(plan.user)
            default: .installation(plan.phone.hash)
            }
        let counts = try await plan.database.registry.erase(subject, in: plan.scope, by: "admin")
        #expect(counts.records > 0)
        #expect(try await plan.leaseCount() == 0)
        let named: SQL = "SELECT count(*) FROM events WHERE type = 'lease-taken' AND aliases IS NOT NULL"
        #expect(try await plan.database.count(named) == 0)
    }

    @Test("The sweep keeps a lease as long as its attempts count") func theSweepKeepsLeases() async throws {
        let plan = try await TestPlan.make()
        _ = try await plan.start()
        try await plan.pass(24 * 60 + 59)
        #expect(try await plan.database.registry.sweep(.leases, limit: 10, in: plan.scope) == 0)
        try await plan.pass(2)
        #expect(try await plan.database.registry.sweep(.leases, limit: 10, in: plan.scope) == 1)
        #expect(try await plan.leaseCount() == 0)
    }

    @Test("An event says who got which lease") func anEventSaysWhoGotWhichLease() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        let told = try await plan.phone.column(
            """
            SELECT concat_ws(' ', who, encode(lease_id, 'hex'), encode(installation_hash, 'hex'), aliases::text)
            FROM events WHERE type = 'lease-taken'
            """
        )
        let alias = #"{"liveactivityId": ["order-42"]}"#
        #expect(told == ["sender \(lease.id) \(plan.phone.hash) \(alias)"])
    }

    @Test("The audit tells what became of a lease") func theAuditTellsWhatBecameOfALease() async throws {
        let plan = try await TestPlan.make()
        func states() async throws -> [ExplainedLease.State] {
            let ofAlias = try await plan.database.registry.explain(plan.order, limit: 10, in: plan.scope).leases
            let ofPhone = try await plan.database.registry.leases(of: plan.phone.hash, in: plan.scope)
            #expect(ofAlias == ofPhone)
            return ofAlias.map(\.state)
        }
        #expect(try await states() == [])
        let first = try await plan.start("plan-1")
        let explained = try #require(try await plan.database.registry.leases(of: plan.phone.hash, in: plan.scope).first)
        #expect(explained.id == first.id && explained.planID == "plan-1" && explained.attempt == 1)
        #expect(explained.alias == plan.order && explained.leasedUntil == first.leasedUntil)
        #expect(try await states() == [.live])
        try await plan.database.registry.release(first.id, in: plan.scope, by: "sender")
        #expect(try await states() == [.released])
        _ = try await plan.start()
        try await plan.pass(61)
        #expect(try await states() == [.expired])
        try await plan.report(410, try await plan.start(), reason: "Unregistered", token: 9)
        #expect(try await states() == [.failed])
        let failed = try #require(try await plan.database.registry.leases(of: plan.phone.hash, in: plan.scope).first)
        #expect(failed.failure == "410 Unregistered" && failed.retryAt != nil && failed.attempt == 2)
        try await plan.pass(5)
        _ = try await plan.start()
        try await plan.register()
        #expect(try await states() == [.registered])
        let page = try await plan.database.registry.events(EventFilter(), limit: 100, in: plan.scope)
        #expect(page.items.contains { $0.type == "lease-taken" && $0.leaseID == first.id })
    }
}
