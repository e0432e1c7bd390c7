import Foundation
import PostgresDriver
import RegistryCore

/// How much an erasure deleted or redacted.
public struct ErasureCounts: Sendable, Hashable {
    public var activities = 0
    /// Rows of installations, their tokens, channels and identities.
    public var records = 0
    public var events = 0
}

extension Registry {
    /// Deletes all that is held about an alias, an installation or a signed-in user, and takes them out of the audit
    /// trail. What was observed before does not come back.
    ///
    /// It may be called again, and must be when it fails halfway.
    ///
    /// - Throws: `unavailable`, also while a request that began before does not end.
    public func erase(_ subject: ErasureSubject, in scope: Scope, by who: String) async throws -> ErasureCounts {
        let statements = ErasureStatements(subject: subject, scope: scope)
        guard try await write({ try $0.execute(statements.remember).affectedRows }) > 0 else {
            throw Problem(.unknownApp, "The app was deleted.")
        }
        // Asked for after the commit: whoever begins later than this sees it.
        let committed = try await read { try $0.execute("SELECT clock_timestamp()")[0].column(0, as: Date.self) }
        try await waitForWriters(before: committed)
        var counts = ErasureCounts()
        counts.activities = try await eraseActivities(statements)
        counts.records = try await write { session in
            let results = try session.pipeline([statements.installationTombstones] + statements.deleteRest)
            return results.dropFirst().map(\.affectedRows).reduce(0, +)
        }
        counts.events = try await redactEvents(statements)
        let event = EventStatements.insertion(
            """
            SELECT 'erased' AS type, NULL::text AS activity_id, NULL::bytea AS installation_hash, NULL::text AS subject,
                NULL::jsonb AS aliases, NULL::bytea AS token_digest
            """,
            by: who,
            in: scope
        )
        _ = try await write { try $0.execute(event).affectedRows }
        return counts
    }

    /// Waits until every request sees that there was an erasure: from then on what it deletes stays deleted.
    private func waitForWriters(before time: Date) async throws {
        let deadline = ContinuousClock.now + .seconds(10)
        let statement = ErasureStatements.writers(before: time)
        while try await read({ try $0.execute(statement)[0].column(0, as: Int.self) }) > 0 {
            guard ContinuousClock.now < deadline else {
                throw Problem(.unavailable, "A request that began before does not end. Send the same request again.")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static let erasurePageSize = 500
    private static let redactionPageSize = 10_000

    private func eraseActivities(_ statements: ErasureStatements) async throws -> Int {
        var total = 0
        while true {
            let count = try await write { session in
                try session.transaction { transaction in
                    let rows = try transaction.execute(statements.activities(limit: Self.erasurePageSize)).rows
                    let ids = try rows.map { try $0.column(0, as: String.self) }
                    _ = try transaction.pipeline(ids.isEmpty ? [] : statements.delete(ids), finishing: true)
                    return ids.count
                }
            }
            total += count
            if count < Self.erasurePageSize { return total }
        }
    }

    private func redactEvents(_ statements: ErasureStatements) async throws -> Int {
        var (total, next) = (0, Int64?.some(0))
        while let number = next {
            let page = statements.redact(after: number, limit: Self.redactionPageSize)
            let (last, count) = try await write { try $0.execute(page)[0].decode(Int64?.self, Int.self) }
            total += count
            next = last
        }
        return total
    }
}
