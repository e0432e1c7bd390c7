import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import Synchronization
import TestSupport
import Testing

@testable import RegistryStore

/// Many tasks change one record through two instances. There are never two current tokens, a revived activity or a visible deadlock.
@Suite(.serialized, .timeLimit(.minutes(15))) struct RaceTests {
    private static let tasks = 64
    /// 3 tests × 64 tasks × rounds: more than 100,000 contested operations in the long run.
    private static let rounds = TestScale.isLong ? 550 : 20
    private let activity: TestActivity

    init() async throws { activity = try await TestActivity.make() }

    private func date(_ milliseconds: Int) -> Date {
        Date.minutesAgo(60).addingTimeInterval(Double(milliseconds) / 1000)
    }

    @Test func `Many tokens of one activity race, and one becomes current`() async throws {
        let other = activity.elsewhere()
        let base = date(0)
        try await race { task, round in
            let number = round * Self.tasks + task
            // Every second request has no time.
            let time = task.isMultiple(of: 2) ? base.addingTimeInterval(Double(number) / 1000) : nil
            try await (task.isMultiple(of: 4) ? other : activity).register(number, at: time)
        }
        #expect(try await activity.currentToken() != nil)
        let claims = try await activity.database.count(
            """
            SELECT count(*) FROM activities a JOIN token_values t USING (scope_id, activity_id)
            WHERE (t.observed_at, t.token_digest) > (a.token_observed_at, a.token_digest)
            """
        )
        #expect(claims == 0)
    }

    @Test func `Many activities race for one token, and one gets it`() async throws {
        let other = activity.elsewhere()
        let base = date(0)
        let watch = DoubleHandout(database: activity.database, in: activity.scope)
        try await watch.during {
            try await race { task, round in
                let number = round * Self.tasks + (task * 37 + round) % Self.tasks
                let time = base.addingTimeInterval(Double(number) / 1000)
                let instance = task.isMultiple(of: 2) ? other : activity
                try await instance.another("activity-\(task)").register(round % 3, at: time)
            }
        }
        #expect(watch.doubles == 0)
        #expect(watch.looks > 0)
        #expect(try await activity.database.deliverableCount(in: activity.scope) <= 3)
        #expect(try await activity.database.wronglyTrusted(in: activity.scope) == 0)
    }

    /// The batch locks before the row of the refused activity exists, and then waits for the token.
    @Test func `A token is taken from an activity that another session inserts during a batch`() async throws {
        let (refused, winner) = (activity.another("refused"), activity.another("winner"))
        try await activity.register(1, at: .minutesAgo(10))
        let columns = """
            scope_id, started_at, expires_at, last_observed_at, token, token_digest, token_observed_at, token_claimed_at, \
            confirmed_at, revision, created_at
            """
        let insertion = try await HeldTransaction(
            """
            WITH former AS (
                UPDATE activities SET withheld = 'taken-over' RETURNING *
            ), later AS (
                INSERT INTO activities (activity_id, \(unescaped: columns)) SELECT \(refused.id), \(unescaped: columns) FROM former
                RETURNING *
            )
            UPDATE token_values t
            SET activity_id = later.activity_id, activity_key = later.activity_key
            FROM later
            """,
            in: activity.database,
            commits: true
        )
        let registrations = [(refused, -60.0), (winner, 5)].map { activity, minutes in
            let body = ActivityRegistration.sample(token: .sample(1), observedAt: .minutesAgo(minutes))
            return Registration(body, of: activity.id, claimant: .any, actor: "test")
        }
        async let results = activity.database.pool.withSession { session in
            let unit = RegistrationUnit(registrations: registrations, scope: activity.scope)
            return try session.transaction { try unit.mergeRegistrations(in: $0, locking: $1) }
        }
        try await insertion.releaseOnceSomebodyWaits()
        let codes = try await results.map { result in
            if case .failure(let problem) = result { problem.code } else { nil as Problem.Code? }
        }
        #expect(codes == [.clockSkew, nil])
        #expect(try await refused.currentToken() == nil)
        #expect(try await winner.currentToken() == .sample(1))
        #expect(try await activity.database.wronglyTrusted(in: activity.scope) == 0)
    }

    @Test func `An end that races a registration is final`() async throws {
        let other = activity.elsewhere()
        let revived = Mutex(0)
        try await race { task, round in
            let id = "activity-\(round)-\(task / 2)"
            if task.isMultiple(of: 2) {
                try await activity.another(id).end()
                let state = try await other.another(id).record()?.status.state
                if state != .ended { revived.withLock { $0 += 1 } }
            } else {
                try await other.another(id).register(task, at: nil)
            }
        }
        #expect(revived.withLock { $0 } == 0)
        #expect(try await activity.database.count("SELECT count(*) FROM activities WHERE ended_at IS NULL") == 0)
    }

    @Test func `Full states that race registrations and takeovers lead to one state`() async throws {
        let base = date(0)
        try await race { task, round in
            let time = base.addingTimeInterval(Double(round * Self.tasks + task) / 1000)
            let phone = InstallationHash.sample(task % 4)
            if task.isMultiple(of: 3) {
                let items = [1, 2, 3].map { number in
                    FullState.Item(
                        activityID: .sample("a\((task + number * 5) % 16)"),
                        registration: .sample(token: .sample(number))
                    )
                }
                try await activity.tellFullState(of: phone, items.shuffled(), at: time)
            } else {
                let one = activity.another("a\(task % 16)")
                try await one.register((task + round) % 8, at: time, installation: phone)
            }
        }
        #expect(try await activity.database.wronglyTrusted(in: activity.scope) == 0)
    }

    /// Before the first registration, the 410 and the registration find no row to lock.
    @Test func `A death that races the first registration is not lost`() async throws {
        let (other, time) = (activity.elsewhere(), date(0))
        try await race { task, round in
            let number = round * Self.tasks + task / 2
            if task.isMultiple(of: 2) {
                try await activity.another("a\(number)").register(number, at: time)
            } else {
                _ = try await other.report(number, 410, at: time.addingTimeInterval(1))
            }
        }
        #expect(try await activity.database.rows(in: "activities") == Self.rounds * Self.tasks / 2)
        #expect(try await activity.database.deliverableCount(in: activity.scope) == 0)
    }

    @Test func `Requests of one alias identity race, and one activity remains`() async throws {
        let identity = activity.identity("match-7")
        try await race { task, round in
            if task == 0 { try await identity.end() } else { _ = try await identity.post(round * Self.tasks + task) }
        }
        #expect(try await identity.tokens().count <= 1)
    }

    @Test func `Many installations race for one device token, and one gets it`() async throws {
        let registries = [activity.registry, activity.database.anotherRegistry()]
        let base = date(0)
        let (database, view) = (activity.database, "deliverable_installation_tokens")
        let watch = DoubleHandout(database: database, in: activity.scope, view: view)
        try await watch.during {
            try await race { task, round in
                let number = round * Self.tasks + (task * 37 + round) % Self.tasks
                let time = base.addingTimeInterval(Double(number) / 1000)
                let phone = InstallationHash.sample(task % 5)
                let registry = registries[task % 2]
                let token = PushToken.sample(round % 3)
                let slot: TokenSlot = task.isMultiple(of: 7) ? .start(try AttributesType("Match")) : .only(.device)
                let scope = activity.scope
                switch (task + round) % 16 {
                case 0: try await registry.logOut(phone, observedAt: time, in: scope, by: "test")
                case 1:
                    try await registry.deleteToken(in: slot, of: phone, observedAt: time, in: scope, by: "test")
                case 2:
                    let registration = ActivityRegistration.sample(token: token, observedAt: time, installation: phone)
                    _ = try await registry.register(registration, as: .sample("a\(number)"), in: scope, by: "test")
                case 3:
                    let profile = InstallationProfile(
                        aliases: try AliasSet([.sample("userId", "\(task % 3)")]),
                        observedAt: time
                    )
                    _ = try await registry.put(profile, for: phone, in: scope, by: "test")
                default:
                    let registration = TokenRegistration(token: token, observedAt: time)
                    _ = try await registry.register(registration, in: slot, of: phone, in: scope, by: "test")
                }
            }
        }
        #expect(watch.doubles == 0)
        #expect(watch.looks > 0)
        // No token is deliverable, and the alias rows match the aliases of the installations.
        #expect(try await activity.database.deliverableCount(in: activity.scope) == 0)
        let strays = try await activity.database.count(
            """
            SELECT count(*) FROM installation_aliases al LEFT JOIN installations i USING (scope_id, installation_hash)
            WHERE NOT coalesce(i.aliases -> al.kind ? al.value, false)
            """
        )
        #expect(strays == 0)
    }

    /// Runs all tasks concurrently. Refusals by the rules are ignored; other errors fail the test.
    private func race(_ step: @escaping @Sendable (_ task: Int, _ round: Int) async throws -> Void) async throws {
        try await concurrently(0..<Self.tasks) { task in
            for round in 0..<Self.rounds {
                do {
                    try await step(task, round)
                } catch let problem as Problem where [409, 410].contains(problem.code.status) { continue }
            }
        }
    }
}

private final class DoubleHandout: Sendable {
    private let database: TestDatabase
    private let scope: Scope
    private let view: String
    private let found = Mutex((doubles: 0, looks: 0))

    init(database: TestDatabase, in scope: Scope, view: String = "deliverable_activities") {
        self.database = database
        self.scope = scope
        self.view = view
    }

    var doubles: Int { found.withLock { $0.doubles } }
    var looks: Int { found.withLock { $0.looks } }

    func during(_ body: () async throws -> Void) async throws {
        let watcher = Task {
            while !Task.isCancelled {
                let doubles = try await database.count(
                    """
                    SELECT count(*) FROM (
                        SELECT FROM \(unescaped: view) c WHERE c.scope_id = \(scope.id)
                        GROUP BY c.token HAVING count(*) > 1
                    ) AS doubles
                    """
                )
                found.withLock { $0 = (doubles: $0.doubles + doubles, looks: $0.looks + 1) }
            }
        }
        try await body()
        watcher.cancel()
        _ = await watcher.result
    }
}

extension TestDatabase {
    /// The number of rows that contradict others or themselves.
    func wronglyTrusted(in scope: Scope) async throws -> Int {
        try await count(Self.trusted(in: scope.id)) + count(Self.explained(in: scope.id))
            + count(Self.torn(in: scope.id))
    }

    /// Activities with tokens that are deliverable without a check of their value, although the value's row withholds them.
    private static func trusted(in scope: Int64) -> SQL {
        """
        SELECT count(*) FROM activities a
        LEFT JOIN token_values t ON t.scope_id = \(scope) AND t.token_digest = a.token_digest
        WHERE a.scope_id = \(scope) AND a.withheld IS NULL AND a.token IS NOT NULL AND a.expires_at > now()
            AND (t.activity_id IS DISTINCT FROM a.activity_id OR t.installation_hash IS NOT NULL
                OR a.token_claimed_at <= greatest(t.dead_at, t.quarantined_at))
        """
    }

    /// Tokens that are deliverable despite a reason, withheld without a reason, or have another reason than their value's row.
    private static func explained(in scope: Int64) -> SQL {
        """
        SELECT count(*) FROM (
        SELECT FROM explained_activities e
        LEFT JOIN deliverable_activities d ON d.scope_id = \(scope) AND d.activity_id = e.activity_id
        WHERE e.scope_id = \(scope) AND (e.reason IS NULL) <> (d.activity_id IS NOT NULL)
        UNION ALL
        SELECT FROM installation_tokens r
        LEFT JOIN token_values t ON t.scope_id = \(scope) AND t.token_digest = r.token_digest
        WHERE r.scope_id = \(scope) AND r.token IS NOT NULL AND r.withheld IS DISTINCT FROM CASE
            WHEN t.installation_kind <> r.kind THEN 'kind-conflict'
            WHEN r.has_one_owner AND t.installation_hash IS DISTINCT FROM r.installation_hash THEN 'taken-over'
            WHEN r.claimed_at <= t.dead_at THEN CASE WHEN t.purged_at = t.dead_at THEN 'purged' ELSE 'unregistered' END
            WHEN r.claimed_at <= t.quarantined_at THEN 'quarantined' END
        ) AS wrong
        """
    }

    /// Rows with only part of a group of columns. The schema omits this check to keep registrations fast.
    private static func torn(in scope: Int64) -> SQL {
        """
        SELECT count(*) FROM (
        SELECT FROM activities a
        WHERE a.scope_id = \(scope)
            AND (num_nulls(a.token_digest, a.token_observed_at, a.token_claimed_at) NOT IN (0, 3)
                OR (a.withheld IS NOT NULL AND a.token_digest IS NULL) OR (a.ended_at IS NULL) <> (a.end_reason IS NULL))
        UNION ALL
        SELECT FROM token_values t
        WHERE t.scope_id = \(scope)
            AND (octet_length(t.token_digest) <> 15 OR (t.activity_id IS NULL) <> (t.observed_at IS NULL)
                OR num_nulls(t.installation_hash, t.installation_kind, t.installation_observed_at) NOT IN (0, 3)
                OR num_nulls(t.quarantined_at, t.quarantined_kind, t.quarantine_reason) NOT IN (0, 3))
        ) AS wrong
        """
    }
}
