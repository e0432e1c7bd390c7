import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Makes the partitions for the next days' events, and drops those whose day has come.
    ///
    /// Any instance may run it at any time: an advisory lock makes the others skip it. A change blocked by a long
    /// reader of the table is left for the next time.
    ///
    /// - Returns: the partitions made and dropped.
    package func renewEventPartitions() async throws -> (made: Int, dropped: Int) {
        var dropped = 0
        let past = try await read { try $0.execute(EventPartitionStatements.past).decode(String.self) }
        for name in past {
            for app in try await self.apps() {
                for environment in APNSEnvironment.allCases {
                    try await noteLoss(of: app.scopeIDs[environment], from: name)
                }
            }
            if try await change(EventPartitionStatements.dropping(name)) { dropped += 1 }
        }
        // Events that came before their partition are deleted row by row.
        let scopes = try await read { session in
            try session.execute(EventPartitionStatements.scopesWithPast).decode(Int64.self)
        }
        for scope in scopes {
            try await noteLoss(of: scope, from: "events_default")
            while try await write({ try $0.execute(EventPartitionStatements.deletePast(of: scope)).affectedRows }) > 0 {
            }
        }
        // Last, because a large default partition is read for each: the deletion makes it smaller.
        let missing = try await read { try $0.execute(EventPartitionStatements.missing).decode(String.self) }
        return (try await makeEventPartitions(missing), dropped)
    }

    /// Makes the partition for an app's events of today, before the first of them is written: a day that began in the
    /// default partition stays there.
    ///
    /// - Parameter retention: the new retention of its events; nil to keep the current one.
    func makeEventPartition(of bundleID: BundleID, retention: Duration?) async throws {
        let missing = EventPartitionStatements.missing(for: bundleID, retention: retention)
        let names = try await read { session in
            do {
                return try session.execute(missing).decode(String.self)
            } catch let error as PostgresError where EventPartitionStatements.mayWait(error) {
                // The default partition takes too long to read. The day's events go there.
                return []
            }
        }
        _ = try await makeEventPartitions(names)
    }

    private func makeEventPartitions(_ names: [String]) async throws -> Int {
        var made = 0
        for name in names where try await change(EventPartitionStatements.making(name)) { made += 1 }
        return made
    }

    /// Stores the number up to which events of a scope are dropped, before they are.
    private func noteLoss(of scope: Int64, from partition: String) async throws {
        try await write { session in
            do {
                let last = try session.execute(EventPartitionStatements.lastPast(of: scope, in: partition))[0]
                guard let number = try last.decode(Int64?.self) else { return }
                _ = try session.execute(EventPartitionStatements.noting(number, lostTo: scope))
            } catch let error as PostgresError where error.sqlState == "42P01" {
            }
        }
    }

    /// - Returns: false if another instance does it, or the table is locked.
    private func change(_ commands: [String]) async throws -> Bool {
        try await write { session in
            do {
                return try session.transaction { transaction in
                    let isOurs = try transaction.execute(EventPartitionStatements.lock)[0].decode(Bool.self)
                    guard isOurs else { return false }
                    for command in commands { try transaction.simple(command) }
                    return true
                }
            } catch let error as PostgresError where EventPartitionStatements.mayWait(error) {
                return false
            }
        }
    }
}

/// One partition for each day on which its events may be dropped.
enum EventPartitionStatements {
    /// Partitions are made this many days ahead: sweeps may fail as long before events go to the default partition.
    private static let daysAhead = 3

    /// The lock for changing partitions, held until the end of the transaction.
    static let lock: SQL =
        "SELECT pg_try_advisory_xact_lock(hashtext('pushreg event partitions'), 'events'::regclass::oid::int)"

    /// Names of partitions for the coming days' events: each app's retention needs its own days.
    static let missing: SQL = missing("SELECT a.event_retention FROM apps a", daysAhead: daysAhead)

    /// The partition for an app's events of today, whether or not the app exists.
    static func missing(for bundleID: BundleID, retention: Duration?) -> SQL {
        missing(
            """
            SELECT coalesce(\(retention), (SELECT a.event_retention FROM apps a WHERE a.bundle_id = \(bundleID.rawValue)),
                \(AppSettings().eventRetention))
            """,
            daysAhead: 0
        )
    }

    /// A day with events that came before its partition stays in the default one.
    private static func missing(_ retentions: SQL, daysAhead: Int) -> SQL {
        """
        WITH begun AS MATERIALIZED (SELECT DISTINCT e.drop_on FROM events_default e)
        SELECT wanted.name FROM (
            SELECT DISTINCT days.day, 'events_' || to_char(days.day, 'YYYYMMDD') AS name
            FROM (\(sql: retentions)) AS kept (event_retention)
            CROSS JOIN generate_series(0, \(unescaped: "\(daysAhead)")) AS ahead (days)
            CROSS JOIN LATERAL (SELECT (now() + kept.event_retention)::date + 1 + ahead.days AS day) AS days
        ) AS wanted
        WHERE to_regclass(wanted.name) IS NULL AND wanted.day NOT IN (SELECT b.drop_on FROM begun b)
        ORDER BY wanted.name
        """
    }

    static let past: SQL = """
        SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_[0-9]{8}$'
            AND to_date(substr(c.relname, 8), 'YYYYMMDD') <= current_date
        ORDER BY c.relname
        """

    /// The wait for each lock of a change. Writers of events queue behind a drop: for a second, a fifth of a request's
    /// limit. Less is too little for Citus, whose transactions hold locks on dozens of shards for most of one.
    private static let lockTimeout = "SET LOCAL lock_timeout = '1s'"

    /// The commands that make a partition, in the transaction that has the lock. Each is sent separately: Citus passes
    /// a command's whole text to its other nodes.
    static func making(_ name: String) -> [String] {
        let day = name.suffix(8)
        return [
            lockTimeout,
            "CREATE TABLE \(name) (LIKE events INCLUDING DEFAULTS INCLUDING CONSTRAINTS)",
            """
            ALTER TABLE events ATTACH PARTITION \(name) FOR VALUES FROM (to_date('\(day)', 'YYYYMMDD'))
                TO (to_date('\(day)', 'YYYYMMDD') + 1)
            """,
        ]
    }

    static func dropping(_ name: String) -> [String] { [lockTimeout, "DROP TABLE IF EXISTS \(name)"] }

    /// The greatest number of a scope's events in a partition that may be dropped.
    static func lastPast(of scope: Int64, in partition: String) -> SQL {
        """
        SELECT max(past.event_number) FROM \(unescaped: partition) past
        WHERE past.scope_id = \(scope) AND past.drop_on <= current_date
        """
    }

    static func noting(_ number: Int64, lostTo scope: Int64) -> SQL {
        """
        UPDATE apps a SET events_dropped_to = \(number) FROM scopes s
        WHERE s.scope_id = \(scope) AND a.app_id = s.app_id AND a.events_dropped_to < \(number)
        """
    }

    /// The scopes with events that came before their partition and may be dropped. Not from the table of scopes: root's
    /// events have none there.
    static let scopesWithPast: SQL = "SELECT DISTINCT scope_id FROM events_default WHERE drop_on <= current_date"

    /// Deletes a page of a scope's events that came before their partition. By number, the order of the primary key: a
    /// row's place does not show Citus the scope.
    static func deletePast(of scope: Int64) -> SQL {
        """
        DELETE FROM events_default e WHERE e.scope_id = \(scope) AND e.drop_on <= current_date AND e.event_number <= (
            SELECT max(page.event_number) FROM (
                SELECT past.event_number FROM events_default past
                WHERE past.scope_id = \(scope) AND past.drop_on <= current_date
                ORDER BY past.event_number LIMIT 10000
            ) AS page
        )
        """
    }

    /// Another session has the table, has made the partition, or wrote such events, or very many, into the default one:
    /// retry later.
    static func mayWait(_ error: PostgresError) -> Bool {
        ["55P03", "42P07", "23514", "40P01", "57014"].contains(error.sqlState ?? "")
    }
}
