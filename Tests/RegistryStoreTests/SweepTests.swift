import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

/// R5 and retention: the sweep's changes and deletions, without delays for other work.
@Suite(.timeLimit(.minutes(15))) struct SweepTests {
    private static let alias = Alias.sample("orderId", "42")
    private let activity: TestActivity

    init() async throws { activity = try await TestActivity.make() }

    @Test func `Expiry holds without a sweep, and the sweep writes it`() async throws {
        try await activity.register(1, at: .minutesAgo(5), aliases: [Self.alias])
        try await activity.age(by: "9 hours")
        #expect(try await activity.record()?.status.state == .expired)
        #expect(try await activity.tokens(Self.alias) == [])
        #expect(try await activity.sweep(.expiry) == 1)
        #expect(try await activity.events() == ["registered", "expired"])
        #expect(try await activity.retired() == ["expired"])
        #expect(try await activity.count("SELECT count(*) FROM activities WHERE token IS NULL") == 1)
        #expect(try await activity.count("SELECT count(*) FROM activity_aliases WHERE ended") == 1)
        #expect(try await activity.sweep(.expiry) == 0)
        // A late registration does not change the expiry.
        #expect(await activity.problem { try await activity.register(2, at: .minutesAgo(1)) }?.code == .activityExpired)
        #expect(try await activity.count("SELECT count(*) FROM activities WHERE token IS NULL") == 1)
        #expect(try await activity.tokens(Self.alias) == [])
        try await activity.end()
        #expect(try await activity.record()?.status.state == .ended)
    }

    @Test func `Instances share the work`() async throws {
        for number in 0..<60 { try await activity.another("a\(number)").register(number, at: .minutesAgo(5)) }
        try await activity.age(by: "9 hours")
        let registries = (0..<4).map { _ in activity.database.anotherRegistry(maximumConnections: 2) }
        let totals = try await concurrently(registries) { registry in
            var total = 0
            for _ in 0..<20 { total += try await registry.sweep(.expiry, limit: 5, in: activity.scope).count }
            return total
        }
        #expect(totals.reduce(0, +) == 60)
        #expect(try await activity.count("SELECT count(*) FROM events WHERE type = 'expired'") == 60)
    }

    @Test(arguments: [SweepTask.expiry, .tombstones])
    func `A page starts at the given expiry`(_ task: SweepTask) async throws {
        for age in 6...9 { try await activity.another("a\(age)").register(age, at: .minutesAgo(Double(age))) }
        try await activity.age(by: "30 days")
        if task == .tombstones { #expect(try await activity.sweep(.expiry) == 4) }
        let sweep = { (limit: Int, start: Timestamp?) in
            try await activity.registry.sweep(task, limit: limit, from: start, in: activity.scope)
        }
        let first = try await sweep(2, nil)
        let last = try await sweep(1, try #require(first.start) + .seconds(150))
        #expect((first.count, last.count) == (2, 1))
        #expect(try await sweep(2, last.start).count == 0)
        #expect(try await sweep(2, first.start).count == 1)
    }

    @Test func `A sweep starts at the first expiry that the latest count found`() async throws {
        try await activity.register(1, at: .minutesAgo(5))
        try await activity.age(by: "9 hours")
        #expect(try await activity.sweep(.expiry) == 1)
        let (registry, scope) = (activity.registry, activity.scope)
        try await registry.counts(in: scope)
        try await activity.database.run("UPDATE activities SET expiry_recorded_at = NULL")
        for (interval, searchesAll) in [("1 minute", false), ("5 minutes", true)] {
            try await activity.database.age("counts", ["counted_at"], by: interval)
            try await registry.counts(in: scope, searchesAll: searchesAll)
            #expect(try await registry.overdueExpiry(in: scope)?.count == (searchesAll ? 1 : nil))
            #expect(try await activity.sweep(.expiry) == (searchesAll ? 1 : 0))
        }
    }

    @Test func `A sweep skips locked rows`() async throws {
        try await activity.register(1, at: .minutesAgo(5))
        try await activity.another("other").register(2, at: .minutesAgo(5))
        try await activity.age(by: "9 hours")
        let scope = activity.scope.id
        let locks: SQL = "SELECT FROM activities WHERE scope_id = \(scope) AND activity_id = 'other' FOR UPDATE"
        let other = try await HeldTransaction(locks, in: activity.database)
        let swept = try await activity.sweep(.expiry)
        try await other.release()
        #expect(swept == 1)
        #expect(try await activity.sweep(.expiry) == 1)
    }

    /// The row of a value that is being reported is removed, too.
    @Test func `Tombstones wait for their values`() async throws {
        try await activity.register(1, at: .minutesAgo(5))
        try await activity.end()
        try await activity.age(by: "8 days")
        let locks: SQL = "SELECT FROM token_values WHERE scope_id = \(activity.scope.id) FOR UPDATE"
        let report = try await HeldTransaction(locks, in: activity.database)
        async let swept = activity.sweep(.tombstones)
        try await report.releaseOnceSomebodyWaits()
        #expect(try await swept == 1)
        #expect(try await activity.rows(in: "token_values") == 0)
    }

    @Test func `Tombstones are removed with all their rows`() async throws {
        try await activity.register(1, at: .minutesAgo(6), aliases: [Self.alias])
        try await activity.register(2, at: .minutesAgo(5), aliases: [.sample("orderId", "43")])
        try await activity.end()
        try await activity.age(by: "7 days")
        // The retention begins at the expiry.
        #expect(try await activity.sweep(.tombstones) == 0)
        try await activity.age(by: "9 hours")
        #expect(try await activity.sweep(.tombstones) == 1)
        for table in ["activities", "token_values", "activity_aliases"] {
            #expect(try await activity.count("SELECT count(*) FROM \(unescaped: table)") == 0, "\(table)")
        }
        // Nothing returns, because observations of that age have expired.
        let problem = await activity.problem { try await activity.register(1, at: .minutesAgo(60 * 24 * 7)) }
        #expect(problem?.code == .activityExpired)
    }

    @Test func `Running activities and taken tokens stay`() async throws {
        let (first, second) = (activity.another("first"), activity.another("second"))
        try await first.register(1, at: .minutesAgo(6), aliases: [Self.alias])
        try await first.end()
        try await first.age(by: "8 days")
        try await second.register(1, at: .minutesAgo(5), aliases: [Self.alias])
        #expect(try await first.sweep(.tombstones) == 1)
        #expect(try await first.tokens(Self.alias) == [.sample(1)])
        #expect(try await first.record() == nil)
    }

    @Test func `A late request keeps its tombstone`() async throws {
        try await activity.register(1, at: .minutesAgo(5))
        try await activity.end()
        try await activity.age(by: "8 days")
        _ = await activity.problem { try await activity.register(2, at: .minutesAgo(1)) }
        #expect(try await activity.sweep(.tombstones) == 0)
        #expect(await activity.problem { try await activity.register(2, at: .minutesAgo(1)) }?.code == .activityEnded)
    }

    @Test func `Deaths of unknown values are forgotten`() async throws {
        _ = try await activity.report(1, 410)
        try await activity.register(2, at: .minutesAgo(1))
        #expect(try await activity.sweep(.values) == 0)
        try await activity.age(by: "8 days")
        #expect(try await activity.sweep(.values) == 1)
        #expect(try await activity.rows(in: "token_values") == 1)
    }

    @Test func `Identities are removed after their activities`() async throws {
        try await activity.identity("match-7").post(1, at: .minutesAgo(5))
        #expect(try await activity.sweep(.identities) == 0)
        try await activity.age(by: "8 days")
        #expect(try await activity.sweep(.identities) == 1)
        #expect(try await activity.rows(in: "alias_identities") == 0)
    }

    @Test func `Events are removed by partition`() async throws {
        let registry = activity.registry
        // The app's own partition was made with the app.
        #expect(try await registry.renewEventPartitions().made == 3)
        try await activity.register(1, at: .minutesAgo(5))
        #expect(try await activity.rows(in: "events_default") == 0)
        #expect(try await activity.events() == ["registered"])
        #expect(try await registry.renewEventPartitions() == (0, 0))
        try await activity.database.makePartitionOfYesterday()
        try await activity.database.script(
            """
            INSERT INTO events (scope_id, drop_on, type, who) VALUES (1, current_date - 1, 'past', 'test');
            INSERT INTO events (scope_id, drop_on, type, who)
            SELECT scope, current_date - 2, 'past', 'test' FROM generate_series(0, 5) AS scope;
            """
        )
        #expect(try await registry.renewEventPartitions().dropped == 1)
        #expect(try await activity.count("SELECT count(*) FROM events WHERE type = 'past'") == 0)
        #expect(try await activity.events() == ["registered"])
    }

    @Test func `The first day of an app has its partition, also after its retention changes`() async throws {
        let (database, bundleID) = (activity.database, activity.scope.app.bundleID)
        var changes = AppChanges()
        changes.eventRetention = .seconds(30 * 86_400)
        _ = try await database.registry.put(changes, for: bundleID, by: "test")
        changes.eventRetention = .seconds(60 * 86_400)
        _ = try await database.registry.change(changes, of: bundleID, by: "test")
        // A call without a retention needs no new partition.
        _ = try await database.registry.put(AppChanges(), for: bundleID, by: "test")
        #expect(try await database.rows(in: "events_default") == 0)
        #expect(try await database.count("SELECT count(DISTINCT drop_on) FROM events") == 3)
    }

    /// Creating its partition would lock the table while Postgres reads the default partition.
    @Test func `A day that began in the default partition stays there and is not tried again`() async throws {
        let (database, bundleID) = (activity.database, activity.scope.app.bundleID)
        try await database.script(
            """
            INSERT INTO events (scope_id, drop_on, type, who)
            SELECT 1, (now() + interval '30 days')::date + 1, 'early', 'test'
            """
        )
        var changes = AppChanges()
        changes.eventRetention = .seconds(30 * 86_400)
        _ = try await database.registry.put(changes, for: bundleID, by: "test")
        #expect(try await database.registry.renewEventPartitions().made == 3)
        let days: QueryValues = ["retentions": [Duration.seconds(30 * 86_400)], "days_ahead": 3]
        #expect(try await database.registry.read { try $0.run("partitions.find-missing", days).count } == 0)
        #expect(try await database.rows(in: "events_default") == 3)
    }

    /// Postgres cannot prepare a text with several commands, and Citus nodes refuse it.
    @Test func `Partitions are changed by one command at a time`() async throws {
        let partition = EventPartition(name: "events_20300101")
        let commands = partition.creation + partition.removal
        try await activity.database.pool.withSession { session in
            try session.transaction { transaction in
                for command in commands { _ = try transaction.execute("\(unescaped: command)") }
            }
        }
    }

    /// The schedule may arrive after the end.
    @Test(arguments: [true, false])
    func `The tombstone of an end outlives the schedule`(isKnownBefore: Bool) async throws {
        let start = Date.minutesAgo(60 - 20 * 24 * 60)
        if isKnownBefore { try await activity.register(1, at: .minutesAgo(60), startsAt: start) }
        try await activity.end(at: .minutesAgo(59))
        _ = await activity.problem { try await activity.register(2, at: .minutesAgo(60), startsAt: start) }
        // It expires after 20 days and 8 hours, and its tombstone 7 days later.
        for (interval, deleted) in [("19 days", 0), ("8 days", 0), ("1 day", 1)] {
            try await activity.age(by: interval)
            #expect(try await activity.sweep(.tombstones) == deleted, "\(interval)")
        }
    }

    /// Resolve reads the rows of the current aliases, even if the activity had other aliases when it expired.
    @Test(arguments: [[1, 2], [2], [1]])
    func `An activity that returns with other aliases is found only by the new aliases`(numbers: [Int]) async throws {
        let alias = { (number: Int) in Alias.sample("orderId", "\(number)") }
        try await activity.register(1, at: .minutesAgo(60), aliases: [alias(1), alias(3)])
        try await activity.age(by: "9 hours")
        #expect(try await activity.sweep(.expiry) == 1)
        let (now, aliases) = (Date.minutesAgo(0), numbers.map(alias))
        let anew = try await activity.register(1, at: now, startsAt: .minutesAgo(-60), aliases: aliases)
        #expect(anew.outcome == .reactivated)
        for number in 1...3 {
            let tokens = try await activity.tokens(alias(number))
            #expect(tokens == (numbers.contains(number) ? [.sample(1)] : []), "\(number)")
        }
        #expect(try await activity.rows(in: "activity_aliases") == numbers.count)
        #expect(try await activity.count("SELECT count(*) FROM activity_aliases WHERE ended") == 0)
    }

    @Test func `The name of a scheduled activity is kept until the activity is removed`() async throws {
        let identity = activity.identity("match-7")
        let first = try await identity.post(1, at: .minutesAgo(0), startsAt: .minutesAgo(-25 * 24 * 60)).activity
        try await identity.age(by: "20 days")
        #expect(try await identity.sweep(.identities) == 0)
        #expect(try await identity.post(2, at: .minutesAgo(1)).activity.activityID == first.activityID)
    }
}
