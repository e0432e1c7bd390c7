import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

@Suite struct LeaseTests {
    private let plan: TestPlan

    init() async throws { plan = try await TestPlan.make() }

    @Test func `A repeated plan gets the same lease, and another plan gets none`() async throws {
        let lease = try await plan.start("plan-1")
        let written: SQL = "SELECT touched_at::text FROM start_leases"
        let before = try await plan.column(written)
        let repeated = try await plan.start("plan-1")
        #expect(repeated.id == lease.id && repeated.leasedUntil == lease.leasedUntil)
        // R1: the repetition writes again, because the commit may have been lost with its response.
        #expect(try await plan.column(written) != before)
        #expect(try await plan.step("plan-2").waitReason == .leased)
        #expect(try await plan.step().waitReason == .leased)
        #expect(try await plan.leaseEvents() == ["lease-taken"])
    }

    private static func dismiss(in plan: TestPlan) async throws {
        try await plan.register(at: .minutesAgo(2))
        try await plan.tellFullState(nil, at: .minutesAgo(1))
    }

    private static let repeated: PlanCase.Step = { _ = try? await $0.register(at: .minutesAgo(2)) }

    static let registrations: [PlanCase] = [
        .yes("a registration") { try await $0.register().end() },
        .yes("an item of a full state, without a token") {
            try await $0.tellFullState($0.item, at: .minutesAgo(0))
            try await $0.activity().end()
        },
        .no("a registration under another alias") {
            let other = Alias.sample("liveactivityId", "order-43")
            try await $0.activity("b-1").register(12, at: nil, installation: $0.phone.hash, aliases: [other])
        },
        .no(
            "a late repetition after the end",
            before: { try await $0.register(at: .minutesAgo(2)).end() },
            after: repeated
        ),
        .no("a late repetition after a full state without the activity", before: dismiss, after: repeated),
        .no("the late end of an activity missing from a full state", before: dismiss) {
            try await $0.activity().end()
        },
        .no(
            "a late repetition after the expiry",
            before: { try await $0.register(at: .minutesAgo(2)).age(by: "9 hours") },
            after: { _ = try? await $0.register(at: .minutesAgo(9 * 60 + 2)) }
        ),
        .no(
            "a late registration of an activity that a log-out ended",
            before: {
                try await $0.phone.logOut(at: nil)
                try await $0.phone.put([$0.user], at: nil)
                try await $0.phone.register(2, at: nil)
            },
            after: { _ = try? await $0.register(at: .minutesAgo(10)) }
        ),
    ]

    @Test(arguments: registrations)
    func `Only a new activity with the alias frees a lease`(_ test: PlanCase) async throws {
        try await test.before(plan)
        let lease = try await plan.start()
        try await test.after(plan)
        guard test.isTrue else {
            #expect(try await plan.step().waitReason == .leased)
            return
        }
        let next = try await plan.start()
        #expect(next.id != lease.id)
        #expect(next.attempt == 1)
    }

    static let removals: [PlanCase] = [
        .yes("a log-out") { try await $0.phone.logOut(at: nil) },
        .no("a late log-out", before: { try await $0.phone.logOut(at: .minutesAgo(1)) }) {
            try await $0.phone.logOut(at: .minutesAgo(2))
        },
        .no("a profile of the user") { try await $0.phone.asUser("u-7").put([$0.user], at: nil) },
        .yes("a profile of another user") { try await $0.phone.asUser("u-8").put([$0.user], at: nil) },
        .yes("a full state of another user") {
            let claimant = Claimant.subject("u-8", $0.phone.hash)
            try await $0.tellFullState(of: $0.phone.hash, at: .minutesAgo(0), claimant: claimant)
        },
        .yes("an erasure of the activity's alias") { try await $0.erase(.alias($0.order)) },
        .yes("an erasure of the user's alias") { try await $0.erase(.alias($0.user)) },
        .yes("an erasure of the phone") { try await $0.erase(.installation($0.phone.hash)) },
    ]

    @Test(arguments: removals)
    func `A log-out, another user and an erasure remove leases`(_ test: PlanCase) async throws {
        try await test.before(plan)
        try await plan.phone.asUser("u-7").put([plan.user], at: .minutesAgo(0))
        _ = try await plan.start()
        try await test.after(plan)
        #expect(try await plan.leaseCount() == (test.isTrue ? 0 : 1))
        let named: SQL = "SELECT count(*) FROM events WHERE type = 'lease-taken' AND aliases IS NOT NULL"
        #expect(try await plan.count(named) == (test.testDescription.contains("erasure") ? 0 : 1))
    }

    @Test(arguments: [410, 400, 429, 503])
    func `A reported failure frees the lease and counts once, a success does not`(_ status: Int) async throws {
        let lease = try await plan.start()
        try await plan.report(200, lease)
        #expect(try await plan.step().waitReason == .leased)
        try await plan.report(status, lease, reason: "BadTopic")
        let written: SQL = "SELECT touched_at::text FROM start_leases"
        let before = try await plan.column(written)
        // R1: a repeated report writes again.
        try await plan.report(500, lease)
        #expect(try await plan.column(written) != before)
        #expect(try await plan.column("SELECT failure FROM start_leases") == ["\(status) BadTopic"])
        #expect(try await plan.leaseEvents() == ["lease-taken", "start-failed"])
        try await plan.phone.register(3, at: nil)
        try await plan.pass(1)
        #expect(try await plan.start().attempt == 2)
    }

    @Test func `Late feedback on an old lease and its late return free no newer lease`() async throws {
        let old = try await plan.start()
        try await plan.pass(61)
        let lease = try await plan.start()
        try await plan.report(503, old)
        try await plan.registry.release(old.id, in: plan.scope, by: "sender")
        #expect(try await plan.step() == .wait(.leased, until: lease.leasedUntil))
    }

    @Test func `The sweep keeps a lease while its attempts count`() async throws {
        _ = try await plan.start()
        try await plan.pass(24 * 60 + 59)
        #expect(try await plan.sweep(.leases) == 0)
        try await plan.pass(2)
        #expect(try await plan.sweep(.leases) == 1)
        #expect(try await plan.leaseCount() == 0)
    }

    @Test func `An event names the lease and its sender`() async throws {
        let lease = try await plan.start()
        let fields = "who, encode(lease_id, 'hex'), encode(installation_hash, 'hex'), aliases::text"
        let told: SQL = "SELECT concat_ws(' ', \(unescaped: fields)) FROM events WHERE type = 'lease-taken'"
        let alias = #"{"liveactivityId": ["order-42"]}"#
        #expect(try await plan.column(told) == ["sender \(lease.id) \(plan.phone.hash) \(alias)"])
    }

    @Test func `The audit shows the leases of an alias and of a phone`() async throws {
        func shown() async throws -> ExplainedLease {
            let ofAlias = try await plan.explain(plan.order).leases
            #expect(try await plan.registry.leases(of: plan.phone.hash, in: plan.scope) == ofAlias)
            return try #require(ofAlias.first)
        }
        let first = try await plan.start("plan-1")
        let live = try await shown()
        #expect(live.lease.id == first.id)
        #expect(live.lease.planID == "plan-1")
        #expect(live.lease.attempt == 1)
        #expect(live.lease.alias == plan.order)
        #expect(live.lease.leasedUntil == first.leasedUntil)
        #expect(live.state == .live)
        try await plan.registry.release(first.id, in: plan.scope, by: "sender")
        #expect(try await shown().state == .released)
        try await plan.report(410, try await plan.start(), reason: "Unregistered", token: 9)
        let failed = try await shown()
        #expect(failed.state == .failed)
        #expect(failed.lease.failure?.reason == "410 Unregistered")
        try await plan.pass(5)
        _ = try await plan.start()
        try await plan.register()
        #expect(try await shown().state == .registered)
        let events = ["lease-taken", "lease-released", "lease-taken", "start-failed", "lease-taken"]
        #expect(try await plan.leaseEvents() == events)
        let page = try await plan.registry.events(EventFilter(), limit: 100, in: plan.scope)
        #expect(page.items.contains { $0.type == "lease-taken" && $0.leaseID == first.id })
    }
}
