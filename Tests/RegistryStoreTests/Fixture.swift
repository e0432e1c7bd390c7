import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules
import RegistryStore
import Synchronization
import TestSupport

/// A record in a scope of a test's database.
protocol Fixture: Sendable {
    var database: TestDatabase { get }
    var scope: Scope { get }
}

extension Fixture {
    var registry: Registry { database.registry }
    func activity(_ id: String) -> TestActivity { TestActivity(database: database, scope: scope, id: .sample(id)) }

    func installation(_ number: Int) -> TestInstallation {
        TestInstallation(database: database, scope: scope, hash: .sample(number))
    }

    func identity(_ alias: UTF8Text) -> TestIdentity { TestIdentity(database: database, scope: scope, alias: alias) }

    func problem<Value>(_ call: () async throws -> Value) async -> Problem? {
        do {
            _ = try await call()
            return nil
        } catch { return error as? Problem }
    }

    func column(_ sql: SQL) async throws -> [String] { try await database.column(sql) }
    func count(_ sql: SQL) async throws -> Int { try await database.count(sql) }
    func rows(in table: String) async throws -> Int { try await database.rows(in: table) }

    /// The greatest number of events of a type that one transaction last wrote.
    func mostEventsOfATransaction(_ type: String) async throws -> Int {
        try await count(
            """
            SELECT max(pages.count) FROM (
                SELECT count(*) AS count FROM events e
                WHERE e.scope_id = \(scope.id) AND e.type = \(type) GROUP BY e.xmin::text
            ) AS pages
            """
        )
    }

    /// Makes all stored times older, except in events and feedback, and the times that clients claimed for installations.
    func age(by interval: String) async throws {
        let columns = [
            "activities": ["started_at", "starts_at", "expires_at", "touched_at", "token_observed_at"],
            "token_values": ["touched_at"], "alias_identities": ["touched_at"], "installations": ["touched_at"],
            "installation_tokens": ["touched_at"],
        ]
        for (table, columns) in columns { try await database.age(table, columns, by: interval) }
    }

    func sweep(_ task: SweepTask) async throws -> Int { try await registry.sweep(task, limit: 100, in: scope).count }

    func report(_ token: Int, _ status: Int, _ reason: String? = nil, at time: Date? = nil) async throws
        -> FeedbackAction
    {
        try await report([FeedbackReport(token: .sample(token), status: status, reason: reason, timestamp: time)])[0]
    }

    func report(_ reports: [FeedbackReport]) async throws -> [FeedbackAction] {
        try await registry.apply(reports, in: scope, by: "sender").results.map(\.action)
    }

    /// Reports tokens as bad.
    @discardableResult
    func suspect(_ tokens: some Sequence<Int>) async throws -> [FeedbackAction] {
        try await report(tokens.map { FeedbackReport(token: .sample($0), status: 400, reason: "BadDeviceToken") })
    }

    @discardableResult
    func tellFullState(
        of installation: InstallationHash,
        _ items: [FullState.Item] = [],
        at time: Date,
        claimant: Claimant = .any
    ) async throws -> FullStateResults {
        let state = FullState(observedAt: time, items: items)
        return try await registry.apply(state, of: installation, in: scope, by: "test", claimant: claimant)
    }

    @discardableResult
    func erase(_ subject: ErasureSubject) async throws -> ErasureCounts {
        try await registry.erase(subject, in: scope, by: "admin")
    }

    func explain(_ alias: Alias, after position: ListPosition = .start, limit: Int = 10) async throws
        -> AliasExplanation
    { try await registry.explain(alias, after: position, limit: limit, in: scope) }

    func found(under alias: Alias) async throws -> [ResolvedActivity] {
        try await registry.activities(under: alias, limit: 100, in: scope)
    }
}

extension TestDatabase {
    func run(_ sql: SQL) async throws { try await pool.withSession { session in _ = try session.execute(sql) } }

    /// Runs several statements in one transaction, or one that runs outside transactions.
    func script(_ text: String) async throws { try await pool.withSession { try $0.simple(text) } }

    func column<Value: PostgresDecodable & Sendable>(_ sql: SQL, as type: Value.Type = String.self) async throws
        -> [Value]
    { try await pool.withSession { try $0.execute(sql).decode(Value.self) } }

    func rows(in table: String) async throws -> Int { try await count("SELECT count(*) FROM \(unescaped: table)") }

    /// Moves times of a table into the past.
    func age(_ table: String, _ columns: [String], by interval: String) async throws {
        let changes = columns.map { "\($0) = earlier(\($0), '\(interval)')" }.joined(separator: ", ")
        try await script("UPDATE \(table) SET \(changes)")
    }

    /// Makes the partition of the events that were to be dropped yesterday.
    func makePartitionOfYesterday() async throws {
        try await script(
            """
            DO $$ BEGIN EXECUTE format('CREATE TABLE events_%s PARTITION OF events FOR VALUES FROM (%L) TO (%L)',
                to_char(current_date - 1, 'YYYYMMDD'), current_date - 1, current_date); END $$
            """
        )
    }

    func deliverableCount(in scope: Scope) async throws -> Int {
        try await count("SELECT count(*) FROM deliverable_activities c WHERE c.scope_id = \(scope.id)")
    }
}

/// Reads the pages of a list, from its start.
func readPages<Page>(
    _ next: (Page) -> ListPosition?,
    _ read: (ListPosition) async throws -> Page
) async throws -> [Page] {
    var (pages, position): ([Page], ListPosition?) = ([], .start)
    while let start = position {
        let page = try await read(start)
        pages.append(page)
        position = next(page)
    }
    return pages
}

/// Tells several tasks that something has happened.
final class Flag: Sendable {
    private let state = Atomic(false)
    var isRaised: Bool { state.load(ordering: .sequentiallyConsistent) }
    func raise() { state.store(true, ordering: .sequentiallyConsistent) }
}
