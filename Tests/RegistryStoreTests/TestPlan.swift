import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport

/// A phone with a user's name, and an order with activities, for plans about both.
struct TestPlan {
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

    func request(_ planID: UTF8Text? = nil) -> PlanRequest {
        var request = PlanRequest(alias: order, to: [user], attributesType: TestInstallation.types[0])
        request.planID = planID
        return request
    }

    func entries(
        _ planID: UTF8Text? = nil,
        by registry: Registry? = nil,
        change: (inout PlanRequest) -> Void = { _ in }
    ) async throws -> [PlanEntry] {
        var request = request(planID)
        change(&request)
        return try await (registry ?? database.registry).plan(request, in: scope, by: "sender").entries
    }

    /// A request that renews 30 minutes before the end.
    func renewal(_ planID: UTF8Text? = nil) -> PlanRequest {
        var request = request(planID)
        request.renewBefore = .seconds(30 * 60)
        return request
    }

    func renewals(_ planID: UTF8Text? = nil) async throws -> [PlanEntry] {
        try await entries(planID) { $0.renewBefore = .seconds(30 * 60) }
    }

    /// The one step of a plan.
    func step(
        _ planID: UTF8Text? = nil,
        by registry: Registry? = nil,
        change: (inout PlanRequest) -> Void = { _ in }
    ) async throws -> PlanStep {
        let entries = try await entries(planID, by: registry, change: change)
        guard entries.count == 1 else { throw Unexpected(entries: entries) }
        return entries[0].step
    }

    func start(_ planID: UTF8Text? = nil, by registry: Registry? = nil) async throws -> StartLease {
        let step = try await step(planID, by: registry)
        guard case .start(_, let lease, _) = step else { throw Unexpected(step: step) }
        return lease
    }

    func backOff() async throws -> Double {
        let step = try await step()
        guard case .wait(.backOff, let retryAt) = step else { throw Unexpected(step: step) }
        return retryAt.timeIntervalSinceNow / 60
    }

    struct Unexpected: Error {
        var entries: [PlanEntry] = []
        var step: PlanStep?
    }

    func activity(_ id: String = "a-1") -> TestActivity {
        TestActivity(database: database, scope: scope, id: .sample(id))
    }

    @discardableResult
    func register(_ id: String = "a-1", token: Int? = 11, at observedAt: Date? = nil) async throws -> TestActivity {
        let activity = activity(id)
        let registration = ActivityRegistration.sample(
            token: token.map { .sample($0) },
            observedAt: observedAt,
            installation: phone.hash,
            aliases: [order]
        )
        if token != nil {
            _ = try await database.registry.register(registration, as: activity.id, in: scope, by: "test")
        } else {
            try await tellFullState(registration, as: activity.id, at: observedAt ?? .minutesAgo(0))
        }
        return activity
    }

    func tellFullState(_ item: ActivityRegistration?, as id: ActivityID = .sample("a-1"), at time: Date) async throws {
        let items = item.map { [FullState.Item(activityID: id, registration: $0)] } ?? []
        let state = FullState(observedAt: time, items: items)
        _ = try await database.registry.apply(state, of: phone.hash, in: scope, by: "test")
    }

    /// A full state in which `a-1` and `a-2` run.
    func tellBoth(_ item: ActivityRegistration) async throws {
        let items = ["a-1", "a-2"].map { FullState.Item(activityID: .sample($0), registration: item) }
        let state = FullState(observedAt: .minutesAgo(0), items: items)
        _ = try await database.registry.apply(state, of: phone.hash, in: scope, by: "test")
    }

    /// Reports what APNs said to a start push.
    func report(_ status: Int, _ lease: StartLease, reason: String? = nil, token: Int = 1) async throws {
        var report = FeedbackReport(token: .sample(token), status: status, reason: reason)
        report.leaseID = lease.id
        _ = try await database.registry.apply([report], in: scope, by: "sender")
    }

    /// Advances the time for leases by making their times older.
    func pass(_ minutes: Int) async throws {
        let columns = ["leased_at", "leased_until", "failed_at", "retry_at", "released_at"]
        let passed = "'\(minutes) minutes'"
        let changes = columns.map { "\($0) = earlier(\($0), \(passed))" }
        try await database.run(
            """
            UPDATE start_leases SET \(unescaped: changes.joined(separator: ", ")),
                attempted_at = ARRAY(SELECT earlier(t, \(unescaped: passed)) FROM unnest(attempted_at) AS t ORDER BY t)
            """
        )
    }

    /// Lets time pass for the activities, as if all about them had been so much earlier.
    func age(_ interval: String) async throws {
        let columns = [
            "started_at", "expires_at", "created_at", "confirmed_at", "last_observed_at", "token_observed_at",
        ]
        let changes = columns.map { "\($0) = earlier(\($0), '\(interval)')" }
        try await database.run("UPDATE activities SET \(unescaped: changes.joined(separator: ", "))")
    }

    /// Types of the events about leases, in order.
    func leaseEvents() async throws -> [String] {
        try await phone.column("SELECT type FROM events WHERE lease_id IS NOT NULL ORDER BY event_number")
    }

    func leaseCount() async throws -> Int { try await database.count("SELECT count(*) FROM start_leases") }
}

extension PlanStep {
    var waitReason: PlanReason? {
        if case .wait(let reason, _) = self { reason } else { nil }
    }

    var updated: ResolvedActivity? {
        if case .update(let activity, _) = self { activity } else { nil }
    }
}
