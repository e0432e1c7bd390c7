import Foundation
import PostgresDriver
import RegistryCore

/// The number of deleted or redacted rows. Each call counts only its own work: a repetition after an interruption
/// counts the rest.
package struct ErasureCounts: Sendable, Hashable {
    package var activities = 0
    /// Rows of installations, their tokens, channels and identities.
    package var records = 0
    /// Redacted audit events stay, without personal data.
    package var events = 0
}

extension Registry {
    /// Deletes all data about an alias, an installation or a signed-in user, and removes them from the audit trail.
    /// Earlier observations do not come back.
    ///
    /// It may be repeated, and must be after a failure: finished work stays done, and the repetition does the rest. All
    /// of it runs in small transactions, however often a token was rotated; from the first one about an activity or an
    /// installation on, all of its tokens are withheld.
    ///
    /// - Throws: `unavailable`, also while an earlier request does not end.
    package func erase(_ subject: ErasureSubject, in scope: Scope, by who: UTF8Text) async throws -> ErasureCounts {
        let statements = ErasureStatements(subject: subject, scope: scope)
        try await write { session in
            let results = try session.pipeline([statements.remember, Refusal.facts(ofApp: scope.app.id)])
            guard results[0].affectedRows > 0 else { throw try Refusal.problem(results[1]) }
        }
        try await waitForWriters()
        let event = EventStatements.insertion(
            "SELECT 'erased' AS type, \(sql: EventStatements.columns(ofAliases: "NULL::jsonb"))",
            by: who,
            in: scope
        )
        var counts = ErasureCounts()
        let pages =
            try await inPages(&counts, [event]) { try Self.deleteActivities(statements, $0, $1) }
            + inPages(&counts, [event]) { try Self.deleteInstallations(statements, $0, $1) }
        // Followers of the feed list anew after each event: first when all is deleted, and again when the trail that
        // they may have to read is redacted.
        if pages > 1 { _ = try await write { try $0.execute(event).affectedRows } }
        if let search = statements.identities(limit: Self.identityPageSize) {
            _ = try await inPages(&counts) { try Self.deleteIdentities(search, scope, $1) }
        }
        counts.records += try await write { session in
            let rest = statements.deleteRest
            return rest.isEmpty ? 0 : try session.pipeline(rest).map(\.affectedRows).reduce(0, +)
        }
        counts.records += try await eraseLeases(statements)
        let redacted = try await redactEvents(statements)
        counts.events += redacted
        if pages == 0 || redacted > 0 { _ = try await write { try $0.execute(event).affectedRows } }
        return counts
    }

    /// Waits until every request sees all commits: from then on, rows deleted because of it stay deleted.
    func waitForWriters() async throws {
        let time = try await read { try $0.execute("SELECT clock_timestamp()")[0].decode(Date.self) }
        let deadline = ContinuousClock.now + .seconds(10)
        let statement = ErasureStatements.writers(before: time)
        while try await read({ try $0.execute(statement)[0].decode(Int.self) }) > 0 {
            guard ContinuousClock.now < deadline else {
                throw Problem(.unavailable, "A request that began before does not end. Send the same request again.")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Activities and leases per transaction, kept low to stay below the statement timeout.
    private static let erasurePageSize = 500
    /// Lower, because the summary of the audit trail is read for each.
    private static let installationPageSize = 50
    /// Lower, because each may remember hundreds of registrations.
    static let identityPageSize = 50
    private static let redactionPageSize = 10_000

    /// Runs page after page, each a transaction, until none is found.
    ///
    /// - Parameters:
    ///   - event: goes into the transaction of the first page.
    ///   - delete: deletes a page, and counts; nil if it finds none.
    /// - Returns: the number of pages.
    private func inPages(
        _ counts: inout ErasureCounts,
        _ event: [SQL] = [],
        _ delete: @escaping @Sendable (_ event: [SQL], borrowing PostgresSession) throws -> ErasureCounts?
    ) async throws -> Int {
        var pages = 0
        while let page = try await write({ [pages] in try delete(pages == 0 ? event : [], $0) }) {
            pages += 1
            counts.activities += page.activities
            counts.records += page.records
            counts.events += page.events
        }
        return pages
    }

    private static func deleteActivities(
        _ statements: ErasureStatements,
        _ event: [SQL],
        _ session: borrowing PostgresSession
    ) throws -> ErasureCounts? {
        try session.transaction { transaction in
            let search = statements.activities(limit: Self.erasurePageSize)
            let ids = try transaction.execute(search).decode(ActivityID.self)
            guard !ids.isEmpty else { return nil }
            let sweep = SweepStatements(scope: statements.scope)
            let parts = [statements.redactEvents(of: ids), sweep.deleteValues(of: ids)]
            let sizes: [Int] = try transaction.pipeline(parts).map { try $0[0].decode(Int.self) }
            let isLast = Self.isLast(events: sizes[0]) && Self.isLast(tokens: sizes[1])
            let end = isLast ? statements.forget(ids) + sweep.delete(ids) : statements.withhold(ids)
            _ = try transaction.pipeline(event + end, finishing: true)
            return ErasureCounts(activities: isLast ? ids.count : 0, events: sizes[0])
        }
    }

    private static func isLast(events count: Int) -> Bool { count < ErasureStatements.eventPageSize }
    /// For a page of values, tokens or leases.
    private static func isLast(tokens count: Int) -> Bool { count < SweepStatements.tokenPageSize }

    private static func deleteInstallations(
        _ statements: ErasureStatements,
        _ event: [SQL],
        _ session: borrowing PostgresSession
    ) throws -> ErasureCounts? {
        try session.transaction { transaction in
            let search = statements.installations(limit: Self.installationPageSize)
            let hashes = try transaction.execute(search).decode([UInt8].self)
            guard !hashes.isEmpty else { return nil }
            let parts = [AuditEventStatements.preferIndexes] + statements.delete(installations: hashes)
            let results = try transaction.pipeline(parts)
            // Before them come the results of the setting and of the tombstones.
            let (page, values) = try results[2][0].decode(Int.self, Int.self)
            let (tokens, leases) = (results[3].affectedRows, results[4].affectedRows)
            let events = try results[5][0].decode(Int.self)
            let isLast = Self.isLast(events: events) && [page, tokens, leases].allSatisfy(Self.isLast(tokens:))
            let end = isLast ? InstallationSweepStatements(scope: statements.scope).delete(hashes) : []
            let deleted = try transaction.pipeline(event + end, finishing: true).suffix(end.count)
            let records = values + tokens + leases + deleted.map(\.affectedRows).reduce(0, +)
            return ErasureCounts(records: records, events: events)
        }
    }

    /// The identities of the subject that no erased activity had.
    private static func deleteIdentities(
        _ search: SQL,
        _ scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> ErasureCounts? {
        try session.transaction { transaction in
            let identities = try transaction.execute(search).decode(UTF8Text.self, UTF8Text.self)
            guard !identities.isEmpty else { return nil }
            let deletion = SweepStatements(scope: scope).deleteIdentities(identities)
            let deleted = try transaction.pipeline([deletion], finishing: true)
            return ErasureCounts(records: deleted.map(\.affectedRows).reduce(0, +))
        }
    }

    /// The leases of an alias on installations that do not bear it; the others went with their installations.
    private func eraseLeases(_ statements: ErasureStatements) async throws -> Int {
        guard case .alias(let alias) = statements.subject else { return 0 }
        let page = LeaseStatements.deletion(of: alias, limit: Self.erasurePageSize, in: statements.scope)
        var total = 0
        while case let count = try await write({ try $0.execute(page).affectedRows }), count > 0 { total += count }
        return total
    }

    private func redactEvents(_ statements: ErasureStatements) async throws -> Int {
        var total = 0
        if let next = statements.redact(limit: ErasureStatements.eventPageSize) {
            let page = [AuditEventStatements.preferIndexes, next]
            while case let count = try await write({ try $0.pipeline(page)[1][0].decode(Int.self) }), count > 0 {
                total += count
            }
        }
        guard case .alias(let alias) = statements.subject else { return total }
        var next = Int64?.some(0)
        while let number = next {
            let page = ErasureStatements.redact(
                alias,
                after: number,
                limit: Self.redactionPageSize,
                in: statements.scope
            )
            let (last, count) = try await write { try $0.execute(page)[0].decode(Int64?.self, Int.self) }
            total += count
            next = last
        }
        return total
    }
}
