import Foundation
import PostgresDriver
import RegistryCore

/// How much an erasure deleted or redacted.
public struct ErasureCounts: Sendable, Hashable {
    /// Activities that were deleted.
    public var activities = 0
    /// Rows of installations, their tokens, channels and identities.
    public var records = 0
    /// Audit events that were redacted: they stay, without personal data.
    public var events = 0
}

extension Registry {
    /// Deletes all that is held about an alias, an installation or a signed-in user, and takes them out of the audit
    /// trail. What was observed before does not come back.
    ///
    /// It may be called again, and must be when it fails halfway.
    ///
    /// - Throws: `unavailable`, also while a request that began before does not end.
    public func erase(_ subject: ErasureSubject, in scope: Scope, by who: UTF8Text) async throws -> ErasureCounts {
        let statements = ErasureStatements(subject: subject, scope: scope)
        try await write { session in
            let results = try session.pipeline([statements.remember, Refusal.facts(ofApp: scope.app.number)])
            guard results[0].affectedRows > 0 else { throw try Refusal(of: nil, results[1][0]).problem }
        }
        try await waitForWriters()
        let event = EventStatements.insertion(
            "SELECT 'erased' AS type, \(sql: EventStatements.columns(ofAliases: "NULL::jsonb"))",
            by: who,
            in: scope
        )
        var counts = ErasureCounts()
        let pages =
            try await eraseActivities(statements, event, &counts)
            + eraseInstallations(statements, event, &counts)
        // Followers of the feed list anew each time that they hear of it: first, when all is deleted, and once the trail that they
        // may have to read names nothing any more.
        if pages > 1 { _ = try await write { try $0.execute(event).affectedRows } }
        counts.records += try await write { session in
            let rest = statements.deleteRest
            return rest.isEmpty ? 0 : try session.pipeline(rest).map(\.affectedRows).reduce(0, +)
        }
        counts.records += try await eraseLeases(statements)
        try await clearReplaced(statements)
        let redacted = try await redactEvents(statements)
        counts.events += redacted
        if pages == 0 || redacted > 0 { _ = try await write { try $0.execute(event).affectedRows } }
        return counts
    }

    /// Waits until every request sees what is committed: from then on what is deleted because of it stays deleted.
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

    /// Rows of one transaction: few, so that it keeps below the time that a statement has, however many events they left.
    private static let erasurePageSize = 500
    /// Fewer, for the summary of the audit trail is read for each.
    private static let installationPageSize = 50
    private static let redactionPageSize = 10_000

    /// Page after page, each a transaction, until nothing is found: what was deleted is found no more.
    ///
    /// - Returns: how many pages there were; the first one's transaction tells of the erasure.
    private func eraseActivities(
        _ statements: ErasureStatements,
        _ event: SQL,
        _ counts: inout ErasureCounts
    ) async throws -> Int {
        var pages = 0
        while true {
            let (found, events, isGone) = try await write { [pages] session in
                try session.transaction { transaction in
                    let search = statements.activities(limit: Self.erasurePageSize)
                    let ids = try transaction.execute(search).decode(ActivityID.self)
                    let redaction = statements.redactEvents(of: ids) + (pages == 0 ? [event] : [])
                    let events = ids.isEmpty ? 0 : try transaction.pipeline(redaction)[0].affectedRows
                    let sweep = SweepStatements(scope: statements.scope)
                    return (ids.count, events, try sweep.delete(ids, statements.forget(ids), transaction))
                }
            }
            guard found > 0 else { return pages }
            pages += 1
            counts.events += events
            if isGone { counts.activities += found }
        }
    }

    /// - Returns: how many pages there were; the first one's transaction tells of the erasure.
    private func eraseInstallations(
        _ statements: ErasureStatements,
        _ event: SQL,
        _ counts: inout ErasureCounts
    ) async throws -> Int {
        var pages = 0
        let search = statements.installations(limit: Self.installationPageSize)
        while true {
            let rows = try await write { [pages] session in
                try session.transaction { transaction in
                    let hashes = try transaction.execute(search).decode([UInt8].self)
                    if pages == 0, !hashes.isEmpty { _ = try transaction.execute(event) }
                    let page = [AuditEventStatements.preferIndexes] + statements.delete(installations: hashes)
                    let deleted = try transaction.pipeline(hashes.isEmpty ? [] : page, finishing: true)
                    return deleted.dropFirst().map(\.affectedRows)
                }
            }
            // The first result is of the tombstones.
            guard let events = rows.last else { return pages }
            pages += 1
            counts.records += rows.dropFirst().dropLast().reduce(0, +)
            counts.events += events
        }
    }

    /// Those of an alias on installations that do not bear it; all others went with their installations.
    private func eraseLeases(_ statements: ErasureStatements) async throws -> Int {
        guard case .alias(let alias) = statements.subject else { return 0 }
        let page = LeaseStatements.deletion(of: alias, limit: Self.erasurePageSize, in: statements.scope)
        var total = 0
        while case let count = try await write({ try $0.execute(page).affectedRows }), count > 0 { total += count }
        return total
    }

    /// Rows may remember an alias that they do not bear any more.
    private func clearReplaced(_ statements: ErasureStatements) async throws {
        guard case .alias(let alias) = statements.subject else { return }
        let scope = statements.scope
        for replaced in ErasureStatements.replaced {
            try await readThrough(replaced.table, holding: scope.app.number) { pages in
                ErasureStatements.clear(replaced, of: alias, pages: pages, in: scope)
            }
        }
    }

    private func redactEvents(_ statements: ErasureStatements) async throws -> Int {
        var total = 0
        if let next = statements.redact(limit: Self.erasurePageSize) {
            let page = [AuditEventStatements.preferIndexes, next]
            while case let count = try await write({ try $0.pipeline(page)[1].affectedRows }), count > 0 {
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
