import Foundation
import PostgresDriver

/// The condition of a Postgres, for those who run it; whether or not it has the registry's schema.
package struct DatabaseCondition: Sendable, Hashable {
    /// A table whose dead rows autovacuum leaves lying.
    package struct NeglectedTable: Sendable, Hashable {
        /// The name of the table; a partition has its own.
        package let name: String
        /// How many dead rows it has, as Postgres estimates.
        package let deadRows: Int
    }

    /// The least version that the service works with, as `server_version_num`.
    package static let leastVersion = 150_000

    /// `server_version`, such as `15.4 (Debian 15.4-1)`.
    package var version = ""
    /// `server_version_num`: the major version times 10,000, and the minor one.
    package var versionNumber = 0
    /// It takes no writes.
    package var isReadOnly = false
    /// The settings by which it could lose acknowledged writes; empty when there are none.
    package var unsafeSettings: [UnsafeDurability] = []
    /// Postgres's clock less this machine's, and by how much that may be wrong: half of the question's round trip.
    package var clockSkew = Duration.zero
    /// How far ``clockSkew`` may be off.
    package var clockUncertainty = Duration.zero
    /// Connections that are open, in all databases, and how many may be, those kept for superusers left out.
    package var connections = 0
    /// `max_connections`, less those that are kept for superusers.
    package var connectionLimit = 0
    /// Whether both autovacuum and the statistics that it needs are on.
    package var isAutovacuumOn = true
    /// Tables of the registry with many dead rows, the worst first.
    package var neglectedTables: [NeglectedTable] = []
    /// How it is distributed; nil where the database does not have the extension citus.
    package var distribution: DistributionCondition?

    init(_ session: borrowing PostgresSession) throws {
        let row = try session.execute(ConditionStatements.settings)[0]
        (version, versionNumber, isReadOnly, isAutovacuumOn, connections, connectionLimit) = try row.decode(
            String.self,
            Int.self,
            Bool.self,
            Bool.self,
            Int.self,
            Int.self
        )
        unsafeSettings = try UnsafeDurability.found(session)
        try compareClocks(session)
        neglectedTables = try session.execute(ConditionStatements.neglectedTables).rows.map { row in
            let (name, deadRows) = try row.decode(String.self, Int.self)
            return NeglectedTable(name: name, deadRows: deadRows)
        }
        distribution = try DistributionCondition.find(session)
        unsafeSettings += distribution?.workers.flatMap(\.unsafeSettings) ?? []
    }

    private mutating func compareClocks(_ session: borrowing PostgresSession) throws {
        // Once before: the first time, the statement is prepared, which takes long.
        _ = try session.execute(ConditionStatements.clock)
        let start = Date()
        let theirs = try session.execute(ConditionStatements.clock)[0].decode(Date.self)
        let half = Date().timeIntervalSince(start) / 2
        clockSkew = .seconds(theirs.timeIntervalSince(start.addingTimeInterval(half)))
        clockUncertainty = .seconds(half)
    }
}

extension Registry {
    /// Asks Postgres how it is.
    ///
    /// - Throws: `unavailable`.
    package func databaseCondition() async throws -> DatabaseCondition {
        try await read { try DatabaseCondition($0) }
    }

    /// Asks Citus how the tables are distributed; nil where the database does not have the extension.
    ///
    /// - Throws: `unavailable`.
    package func distributionCondition() async throws -> DistributionCondition? {
        try await read { try DistributionCondition.find($0) }
    }
}

/// The statements that ask Postgres how it is. They need no schema and no privileges.
enum ConditionStatements {
    /// The values that ``DatabaseCondition`` reads, in its order. Others' sessions are hidden from most roles, their
    /// number is not.
    static let settings: SQL = """
        SELECT current_setting('server_version'), current_setting('server_version_num')::bigint,
            current_setting('transaction_read_only')::boolean,
            current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean,
            (SELECT coalesce(sum(numbackends), 0)::bigint FROM pg_stat_database),
            current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
        """

    static let clock: SQL = "SELECT clock_timestamp()"

    /// Tables whose dead rows are twice as many as those at which autovacuum should have come (its documentation: a
    /// threshold and a share of the rows), and enough of them that it is no matter of a minute.
    static let neglectedTables: SQL = """
        SELECT s.relname::text, s.n_dead_tup
        FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
        WHERE s.schemaname = current_schema() AND s.n_dead_tup > 10000
            AND s.n_dead_tup > 2 * (current_setting('autovacuum_vacuum_threshold')::float8
                + current_setting('autovacuum_vacuum_scale_factor')::float8 * greatest(c.reltuples, 0))
        ORDER BY s.n_dead_tup DESC
        """
}
