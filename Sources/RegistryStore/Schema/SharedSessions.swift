import PostgresDriver

/// A pooler in transaction or statement mode gives one Postgres session to several connections, so that their settings
/// and prepared statements mix.
package struct SharedSessions: Error, Sendable, Hashable, CustomStringConvertible {
    package init() {}

    package var detail: String {
        "A pooler in transaction mode hands one session of Postgres to several connections, so their settings and statements mix."
    }

    package var remedy: String {
        "Connect to Postgres itself (port 5432 at Supabase), or set pool_mode = session in PgBouncer."
    }

    package var description: String { "\(detail) \(remedy)" }

    /// duplicate_prepared_statement, invalid_sql_statement_name
    package static func caused(_ error: any Error) -> Bool {
        ["42P05", "26000"].contains((error as? PostgresError)?.sqlState)
    }
}

extension PostgresPool {
    /// Searches one connection's mark in another connection.
    ///
    /// - Throws: ``SharedSessions``, and ``PostgresError``.
    package func refuseSharedSessions() async throws {
        let other = copy(maximumConnections: 1)
        let isShared: Bool
        do {
            isShared = try await findLock(in: other)
        } catch let error where SharedSessions.caused(error) {
            isShared = true
        } catch {
            await other.shutdown()
            throw error
        }
        await other.shutdown()
        if isShared { throw SharedSessions() }
    }

    private func findLock(in other: PostgresPool) async throws -> Bool {
        // A pooler may choose another session each time.
        for _ in 0..<3 {
            let set: SQL = "SELECT set_config('pushreg.mark', gen_random_uuid()::text, false)"
            let mark = try await withSession(.never) { try $0.execute(set)[0].decode(String.self) }
            let read: SQL = "SELECT current_setting('pushreg.mark', true)"
            let found = try await other.withSession(.never) { try $0.execute(read)[0].decode(String?.self) }
            if found == mark { return true }
        }
        return false
    }
}
