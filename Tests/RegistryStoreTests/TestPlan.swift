import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import TestSupport
import Testing

/// A phone with a user's name, and an order with activities, for plans about both.
struct TestPlan: Fixture {
    let phone: TestInstallation
    let order = Alias.sample(Alias.liveActivityKind.string, "order-42")
    let user = Alias.sample("userId", "u-7")

    var database: TestDatabase { phone.database }
    var scope: Scope { phone.scope }

    static func make(startToken: Int? = 1) async throws -> TestPlan {
        let plan = TestPlan(phone: try await TestInstallation.make())
        try await plan.phone.put([plan.user], at: nil)
        if let startToken { try await plan.phone.register(startToken, at: nil) }
        return plan
    }

    func request(_ planID: UTF8Text? = nil, of alias: Alias? = nil) -> PlanRequest {
        var request = PlanRequest(alias: alias ?? order, to: [user], attributesType: TestInstallation.types[0])
        request.planID = planID
        return request
    }

    func pages(of request: PlanRequest) async throws -> [PlanPage] {
        try await readPages(\.next) { try await registry.plan(request, after: $0, in: scope, by: "sender") }
    }

    func entries(
        _ planID: UTF8Text? = nil,
        change: (inout PlanRequest) -> Void = { _ in }
    ) async throws -> [PlanEntry] {
        var request = request(planID)
        change(&request)
        return try await registry.plan(request, in: scope, by: "sender").entries
    }

    /// Renews 30 minutes before the end.
    static func renew(_ request: inout PlanRequest) { request.renewBefore = .seconds(30 * 60) }

    /// The step of a plan that has a single step.
    func step(_ planID: UTF8Text? = nil, change: (inout PlanRequest) -> Void = { _ in }) async throws -> PlanDecision {
        let entries = try await entries(planID, change: change)
        guard entries.count == 1 else { throw Unexpected(entries: entries) }
        return entries[0].decision
    }

    func start(_ planID: UTF8Text? = nil) async throws -> Lease {
        let step = try await step(planID)
        guard case .start(_, let lease, _) = step else { throw Unexpected(step: step) }
        return lease
    }

    /// Adds a phone of the user, with a start token of its number.
    func addPhone(_ number: Int) async throws {
        let other = phone.another(number)
        try await other.put([user], at: nil)
        try await other.register(number, at: nil)
    }

    struct Unexpected: Error {
        var entries: [PlanEntry] = []
        var step: PlanDecision?
    }

    func activity() -> TestActivity { activity("a-1") }

    @discardableResult
    func register(_ id: String = "a-1", token: Int = 11, at observedAt: Date? = nil) async throws -> TestActivity {
        let activity = activity(id)
        try await activity.register(token, at: observedAt, installation: phone.hash, aliases: [order])
        return activity
    }

    /// An activity without a token in a full state.
    var item: ActivityRegistration { .sample(token: nil, installation: phone.hash, aliases: [order]) }

    /// A full state that lists these activities, or with a nil item none.
    func tellFullState(_ item: ActivityRegistration?, of ids: [String] = ["a-1"], at time: Date) async throws {
        let items = item.map { item in ids.map { FullState.Item(activityID: .sample($0), registration: item) } } ?? []
        try await tellFullState(of: phone.hash, items, at: time)
    }

    /// Reports the response of APNs to a start push.
    func report(_ status: Int, _ lease: Lease, reason: String? = nil, token: Int = 1) async throws {
        var report = FeedbackReport(token: .sample(token), status: status, reason: reason)
        report.leaseID = lease.id
        _ = try await self.report([report])
    }

    /// Makes the times of leases older, as if time had passed.
    func pass(_ minutes: Int) async throws {
        let columns = ["leased_at", "leased_until", "failed_at", "retry_at", "released_at"]
        try await database.age("start_leases", columns, by: "\(minutes) minutes")
        let attempts = "ARRAY(SELECT earlier(t, '\(minutes) minutes') FROM unnest(attempted_at) AS t ORDER BY t)"
        try await database.script("UPDATE start_leases SET attempted_at = \(attempts)")
    }

    /// Makes all times of activities older, as if time had passed.
    func age(_ interval: String) async throws {
        let columns = [
            "started_at", "expires_at", "created_at", "confirmed_at", "last_observed_at", "token_observed_at",
        ]
        try await database.age("activities", columns, by: interval)
    }

    /// Types of the events about leases, in order.
    func leaseEvents() async throws -> [String] {
        try await column("SELECT type FROM events WHERE lease_id IS NOT NULL ORDER BY event_number")
    }

    func leaseCount() async throws -> Int { try await rows(in: "start_leases") }
}

/// A row of a table of stories: whether a statement about them is true.
struct PlanCase: CustomTestStringConvertible, Sendable {
    typealias Step = @Sendable (TestPlan) async throws -> Void

    let testDescription: String
    let isTrue: Bool
    let before: Step
    let after: Step

    static func yes(_ name: String, before: @escaping Step = { _ in }, after: @escaping Step) -> PlanCase {
        PlanCase(testDescription: name, isTrue: true, before: before, after: after)
    }

    static func no(_ name: String, before: @escaping Step = { _ in }, after: @escaping Step) -> PlanCase {
        PlanCase(testDescription: name, isTrue: false, before: before, after: after)
    }
}

extension PlanDecision {
    var waitReason: PlanReason? { if case .wait(let reason, _) = self { reason } else { nil } }
    var updated: ResolvedActivity? { if case .update(let activity, _) = self { activity } else { nil } }
}
