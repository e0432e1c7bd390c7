import Logging
import PostgresDriver

extension PostgresPool {
    /// - Parameters:
    ///   - planLifetime: how long a connection keeps its plans; nil for Postgres's default. A new plan costs about a
    ///     millisecond.
    ///   - allowsUnsafeDurability: accepts a server that can lose acknowledged writes. For tests only.
    package convenience init(
        databaseURL: String,
        maximumConnections: Int = 16,
        requestTimeout: Duration = .seconds(5),
        planLifetime: Duration? = .seconds(10),
        allowsUnsafeDurability: Bool = false,
        logger: Logger
    ) {
        var configuration = PostgresConfiguration(connectionString: databaseURL)
        configuration.applicationName = "pushreg"
        configuration.maximumConnections = maximumConnections
        // Registrations and resolutions continue under any other load.
        configuration.reservedConnections = maximumConnections > 1 ? max(1, maximumConnections / 4) : 0
        configuration.requestTimeout = requestTimeout
        configuration.planLifetime = planLifetime
        configuration.settings = Self.settings
        // Planning the hot statements each time costs more than running them.
        configuration.settings["plan_cache_mode"] = "force_generic_plan"
        configuration.onConnect = { session in
            if !allowsUnsafeDurability {
                if let unsafe = try UnsafeDurability.found(session).first { throw unsafe }
                // Sets each setting to its current value. A later reload of the server's settings then does not change
                // the session.
                _ = try session.execute(
                    "SELECT set_config('synchronous_commit', current_setting('synchronous_commit'), false)"
                )
            }
            try Distribution.prepare(session)
        }
        self.init(configuration: configuration, logger: logger)
    }

    /// Session settings by name.
    ///
    /// Warnings stay on for every role and database, because a warning is the only sign of a commit that stopped
    /// waiting for the standby.
    ///
    /// Postgres assumes ten pages for a table that was never analyzed, and may keep a plan that reads all of them until
    /// autovacuum runs, about a minute. Every table has indexes for its queries, so sequential reads are made
    /// expensive. They are not disabled, because all plans that need them would then cost the same.
    static let settings = [
        "client_min_messages": "warning", "jit": "off", "TimeZone": "UTC",
        "seq_page_cost": "20", "random_page_cost": "1",
    ]

    /// Searches one connection's mark in another connection.
    package func refuseSharedSessions() async throws {
        let isShared = try await withOwnConnection { other in
            do {
                return try await findMark(in: other)
            } catch let error where SharedSessions.caused(error) { return true }
        }
        if isShared { throw SharedSessions() }
    }

    /// Lends a pool with one connection, which is closed after the body.
    func withOwnConnection<Value>(_ body: (PostgresPool) async throws -> Value) async throws -> Value {
        let own = copy(maximumConnections: 1)
        do {
            let value = try await body(own)
            await own.shutdown()
            return value
        } catch {
            await own.shutdown()
            throw error
        }
    }

    private func findMark(in other: PostgresPool) async throws -> Bool {
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
