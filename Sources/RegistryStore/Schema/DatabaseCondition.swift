import Foundation
import PostgresDriver

package struct DatabaseCondition: Sendable, Hashable {
    package struct NeglectedTable: Sendable, Hashable {
        /// A partition has its own entry.
        package let name: String
        package let deadRows: Int

        /// Tables with more than twice the dead rows at which autovacuum starts (by its documented formula), and more
        /// than accumulate in a minute.
        fileprivate static let find: SQL = """
            SELECT s.relname::text, s.n_dead_tup
            FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
            WHERE s.schemaname = current_schema() AND s.n_dead_tup > 10000
                AND s.n_dead_tup > 2 * (current_setting('autovacuum_vacuum_threshold')::float8
                    + current_setting('autovacuum_vacuum_scale_factor')::float8 * greatest(c.reltuples, 0))
            ORDER BY s.n_dead_tup DESC
            """
    }

    /// The oldest snapshot, if autovacuum must keep many dead rows for it.
    package struct OldSnapshot: Sendable, Hashable {
        /// A session with its application and user, a replication slot or a prepared transaction.
        package let holder: String
        /// Transactions since the snapshot.
        package let age: Int

        /// The age is in transactions, because Postgres hides other roles' times, and dead rows come from transactions.
        /// Autovacuum's workers, which have no user, do not keep dead rows.
        static let find: SQL = """
            SELECT h.holder, h.age
            FROM (
                SELECT format('session %s (application %s, user %s)', a.pid, a.application_name, a.usename) AS holder,
                    age(a.backend_xmin)::bigint AS age
                FROM pg_stat_activity a
                WHERE a.usesysid IS NOT NULL AND coalesce(a.datname, current_database()) = current_database()
                UNION ALL
                SELECT format('replication slot %s', s.slot_name), age(s.xmin) FROM pg_replication_slots s
                UNION ALL
                SELECT format('prepared transaction %s', p.gid), age(p.transaction)
                FROM pg_prepared_xacts p WHERE p.database = current_database()
            ) AS h
            WHERE h.age > 100000
            ORDER BY h.age DESC
            LIMIT 1
            """
    }

    /// The oldest supported version, as `server_version_num`.
    package static let leastVersion = 150_000

    package var version = ""
    package var versionNumber = 0
    package var isReadOnly = false
    package var user = ""
    /// The schema of new tables; nil if the user may use none in `search_path`.
    package var schema: String?
    package var mayCreateTables = true
    package var unsafeSettings: [UnsafeDurability] = []
    /// Postgres's clock minus this machine's. The uncertainty is half the round trip.
    package var clockSkew = Duration.zero
    package var clockUncertainty = Duration.zero
    /// In all databases.
    package var connections = 0
    /// `max_connections` minus connections reserved for superusers.
    package var connectionLimit = 0
    package var isAutovacuumOn = true
    package var neglectedTables: [NeglectedTable] = []
    package var oldSnapshot: OldSnapshot?
    /// Nil without the extension citus.
    package var distribution: DistributionCondition?

    init(_ session: borrowing PostgresSession) throws {
        // Requires no schema and no privileges. Most roles cannot see other sessions, only their number.
        (version, versionNumber, isReadOnly, isAutovacuumOn, connections, connectionLimit) = try session.execute(
            """
            SELECT current_setting('server_version'), current_setting('server_version_num')::bigint,
                current_setting('transaction_read_only')::boolean,
                current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean,
                (SELECT coalesce(sum(numbackends), 0)::bigint FROM pg_stat_database),
                current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
            """
        )[0].decode(String.self, Int.self, Bool.self, Bool.self, Int.self, Int.self)
        (user, schema, mayCreateTables) = try session.execute(
            """
            SELECT current_user::text, current_schema()::text,
                coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)
            """
        )[0].decode(String.self, String?.self, Bool.self)
        unsafeSettings = try UnsafeDurability.found(session)
        try compareClocks(session)
        neglectedTables = try session.execute(NeglectedTable.find).decode(String.self, Int.self)
            .map(NeglectedTable.init(name:deadRows:))
        oldSnapshot = try session.execute(OldSnapshot.find).decode(String.self, Int.self).first
            .map(OldSnapshot.init(holder:age:))
        distribution = try DistributionCondition.read(session)
        unsafeSettings += distribution?.workers.flatMap(\.unsafeSettings) ?? []
    }

    static let clock: SQL = "SELECT clock_timestamp()"

    private mutating func compareClocks(_ session: borrowing PostgresSession) throws {
        // The first execution prepares the statement, which takes long.
        _ = try session.execute(Self.clock)
        let start = Date()
        let theirs = try session.execute(Self.clock)[0].decode(Date.self)
        let half = Date().timeIntervalSince(start) / 2
        clockSkew = .seconds(theirs.timeIntervalSince(start.addingTimeInterval(half)))
        clockUncertainty = .seconds(half)
    }
}

extension Registry {
    package func databaseCondition() async throws -> DatabaseCondition { try await read { try DatabaseCondition($0) } }

    package func distributionCondition() async throws -> DistributionCondition? {
        try await read { try DistributionCondition.read($0) }
    }
}

/// A setting that lets a crash lose acknowledged writes (R1).
package struct UnsafeDurability: Error, Sendable, Hashable, CustomStringConvertible {
    package let setting: String
    package let value: String
    /// The Citus worker; nil for the connection's server.
    package var worker: String?

    package var detail: String {
        """
        \(worker.map { "The worker \($0)" } ?? "Postgres") runs with \(setting) = \(value), so it can lose writes that it \
        acknowledged.
        """
    }

    package var description: String { "\(detail) Set \(setting) to on." }

    static let safeValues = [
        ("fsync", ["on"]), ("synchronous_commit", ["on", "remote_apply"]), ("full_page_writes", ["on"]),
    ]

    static func found(_ session: borrowing PostgresSession) throws -> [UnsafeDurability] {
        let results = try session.pipeline(safeValues.map { "SELECT current_setting(\($0.0))" })
        return try zip(safeValues, results).compactMap { safe, result in
            let value = try result[0].decode(String.self)
            return safe.1.contains(value) ? nil : UnsafeDurability(setting: safe.0, value: value)
        }
    }
}
