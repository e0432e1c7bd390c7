import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

@Suite struct LeaseTests {
    @Test func `A repeated plan gets the same lease, and another plan gets none`() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start("plan-1")
        let written: SQL = "SELECT touched_at::text FROM start_leases"
        let before = try await plan.column(written)
        #expect(try await plan.start("plan-1") == lease)
        // R1: the repetition writes again, because the commit may have been lost with its response.
        #expect(try await plan.column(written) != before)
        #expect(try await plan.step("plan-2").waitReason == .leased)
        #expect(try await plan.step().waitReason == .leased)
        #expect(try await plan.leaseEvents() == ["lease-taken"])
    }

    @Test func `A third attempt is returned again to the same plan`() async throws {
        let plan = try await TestPlan.make()
        for _ in 1...2 {
            _ = try await plan.start("plan-1")
            try await plan.pass(61)
        }
        let third = try await plan.start("plan-1")
        #expect(try await plan.start("plan-1") == third && third.attempt == 3)
    }

    @Test func `A registration under the alias frees the lease`() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.register().end()
        let next = try await plan.start()
        #expect(next.id != lease.id)
        #expect(next.attempt == 1)
    }

    @Test func `An item of a full state frees the lease, with a token or without`() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.register(token: nil).end()
        #expect(try await plan.start().id != lease.id)
    }

    @Test func `A registration before the lease and its late repetition free no lease`() async throws {
        let plan = try await TestPlan.make()
        let activity = try await plan.register(at: .minutesAgo(2))
        try await activity.end()
        _ = try await plan.start()
        let late = await activity.problem { try await plan.register(at: .minutesAgo(2)) }
        #expect(late?.code == .activityEnded)
        #expect(try await plan.step().waitReason == .leased)
    }

    @Test(arguments: [false, true])
    func `A late repetition for a dismissed or expired activity frees no lease`(hasExpired: Bool) async throws {
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

    @Test func `A lease returned after its end stays an attempt`() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.pass(61)
        try await plan.registry.release(lease.id, in: plan.scope, by: "sender")
        let next = try await plan.start()
        #expect(next.attempt == 2)
        #expect(next.id != lease.id)
        #expect(next.collapseID == lease.collapseID)
        #expect(try await plan.leaseEvents() == ["lease-taken", "lease-taken"])
    }

    @Test func `The late end of a dismissed activity frees no lease`() async throws {
        let plan = try await TestPlan.make()
        let activity = try await plan.register(at: .minutesAgo(2))
        try await plan.tellFullState(nil, at: .minutesAgo(1))
        _ = try await plan.start()
        try await activity.end()
        #expect(try await plan.step().waitReason == .leased)
    }

    @Test func `A registration under another alias frees no lease`() async throws {
        let plan = try await TestPlan.make()
        _ = try await plan.start()
        let other = Alias.sample("liveactivityId", "order-43")
        try await plan.activity("b-1").register(12, at: nil, installation: plan.phone.hash, aliases: [other])
        #expect(try await plan.step().waitReason == .leased)
    }

    @Test(arguments: [410, 400, 429, 503])
    func `A reported failure frees the lease, a success does not`(_ status: Int) async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.report(200, lease)
        #expect(try await plan.step().waitReason == .leased)
        try await plan.report(status, lease, reason: "BadTopic")
        #expect(try await plan.column("SELECT failure FROM start_leases") == ["\(status) BadTopic"])
        #expect(try await plan.leaseEvents() == ["lease-taken", "start-failed"])
        try await plan.phone.register(3, at: nil)
        try await plan.pass(1)
        #expect(try await plan.start().attempt == 2)
    }

    @Test func `A repeated failure report is written and counts once`() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.report(503, lease)
        let written: SQL = "SELECT touched_at::text FROM start_leases"
        let before = try await plan.column(written)
        try await plan.report(500, lease)
        #expect(try await plan.column(written) != before)
        #expect(try await plan.column("SELECT failure FROM start_leases") == ["503"])
        #expect(try await plan.leaseEvents() == ["lease-taken", "start-failed"])
    }

    @Test func `Late feedback on an old lease and its late return free no newer lease`() async throws {
        let plan = try await TestPlan.make()
        let old = try await plan.start()
        try await plan.pass(61)
        let lease = try await plan.start()
        try await plan.report(503, old)
        try await plan.registry.release(old.id, in: plan.scope, by: "sender")
        #expect(try await plan.step() == .wait(.leased, retryAt: lease.leasedUntil))
    }

    @Test func `A returned lease is free again and is not an attempt`() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        try await plan.registry.release(lease.id, in: plan.scope, by: "sender")
        try await plan.registry.release(lease.id, in: plan.scope, by: "sender")
        let next = try await plan.start()
        #expect(next.id != lease.id)
        #expect(next.attempt == 1)
        #expect(try await plan.leaseEvents() == ["lease-taken", "lease-released", "lease-taken"])
    }

    @Test func `A log-out removes the lease, and a late one keeps the next user's lease`() async throws {
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

    @Test func `A user who takes the installation over returns its leases`() async throws {
        let plan = try await TestPlan.make()
        try await plan.phone.asUser("u-7").put([plan.user], at: nil)
        _ = try await plan.start()
        try await plan.phone.asUser("u-7").put([plan.user], at: nil)
        #expect(try await plan.leaseCount() == 1)
        try await plan.phone.asUser("u-8").put([plan.user], at: nil)
        #expect(try await plan.leaseCount() == 0)
        _ = try await plan.start()
        let claimant = Claimant.subject("u-9", plan.phone.hash)
        try await plan.tellFullState(of: plan.phone.hash, at: .minutesAgo(0), claimant: claimant)
        #expect(try await plan.leaseCount() == 0)
    }

    @Test(arguments: ["order", "user", "phone"])
    func `An erasure removes leases, and their events name no user`(_ what: String) async throws {
        let plan = try await TestPlan.make()
        _ = try await plan.start()
        let subjects: [String: ErasureSubject] = ["order": .alias(plan.order), "user": .alias(plan.user)]
        let counts = try await plan.erase(subjects[what] ?? .installation(plan.phone.hash))
        #expect(counts.records > 0)
        #expect(try await plan.leaseCount() == 0)
        let named: SQL = "SELECT count(*) FROM events WHERE type = 'lease-taken' AND aliases IS NOT NULL"
        #expect(try await plan.count(named) == 0)
    }

    @Test func `The sweep keeps a lease while its attempts count`() async throws {
        let plan = try await TestPlan.make()
        _ = try await plan.start()
        try await plan.pass(24 * 60 + 59)
        #expect(try await plan.sweep(.leases) == 0)
        try await plan.pass(2)
        #expect(try await plan.sweep(.leases) == 1)
        #expect(try await plan.leaseCount() == 0)
    }

    @Test func `An event names the lease and its sender`() async throws {
        let plan = try await TestPlan.make()
        let lease = try await plan.start()
        let fields = "who, encode(lease_id, 'hex'), encode(installation_hash, 'hex'), aliases::text"
        let told: SQL = "SELECT concat_ws(' ', \(unescaped: fields)) FROM events WHERE type = 'lease-taken'"
        let alias = #"{"liveactivityId": ["order-42"]}"#
        #expect(try await plan.column(told) == ["sender \(lease.id) \(plan.phone.hash) \(alias)"])
    }

    @Test func `The audit shows the outcome of a lease`() async throws {
        let plan = try await TestPlan.make()
        func states() async throws -> [Lease.State] {
            let ofAlias = try await plan.explain(plan.order).leases
            let ofPhone = try await plan.registry.leases(of: plan.phone.hash, in: plan.scope)
            #expect(ofAlias == ofPhone)
            return ofAlias.map(\.state)
        }
        #expect(try await states() == [])
        let first = try await plan.start("plan-1")
        let explained = try #require(try await plan.registry.leases(of: plan.phone.hash, in: plan.scope).first)
        #expect(explained.lease.id == first.id)
        #expect(explained.lease.planID == "plan-1")
        #expect(explained.lease.attempt == 1)
        #expect(explained.lease.alias == plan.order)
        #expect(explained.lease.leasedUntil.date == first.leasedUntil)
        #expect(try await states() == [.live])
        try await plan.registry.release(first.id, in: plan.scope, by: "sender")
        #expect(try await states() == [.released])
        _ = try await plan.start()
        try await plan.pass(61)
        #expect(try await states() == [.expired])
        try await plan.report(410, try await plan.start(), reason: "Unregistered", token: 9)
        #expect(try await states() == [.failed])
        let failed = try #require(try await plan.registry.leases(of: plan.phone.hash, in: plan.scope).first)
        #expect(failed.lease.failure?.reason == "410 Unregistered")
        #expect(failed.lease.attempt == 2)
        try await plan.pass(5)
        _ = try await plan.start()
        try await plan.register()
        #expect(try await states() == [.registered])
        let page = try await plan.registry.events(EventFilter(), limit: 100, in: plan.scope)
        #expect(page.items.contains { $0.type == "lease-taken" && $0.leaseID == first.id })
    }
}
