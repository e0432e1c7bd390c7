import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Makes the partitions into which the next days' events go, and drops those whose day has come.
    ///
    /// Any instance may do it at any time: an advisory lock makes the others skip it. What cannot be had at once, since
    /// somebody reads the table for long, is left for the next time.
    ///
    /// - Returns: the partitions made and dropped.
    package func renewEventPartitions() async throws -> (made: Int, dropped: Int) {
        var dropped = 0
        let past = try await read { try $0.execute(EventPartitionStatements.past).decode(String.self) }
        for name in past {
            for app in try await self.apps() { try await noteLoss(of: app.number, from: name) }
            if try await change(EventPartitionStatements.dropping(name)) { dropped += 1 }
        }
        // Events that came before their partition did are deleted the slow way.
        let apps = try await read { session in
            try session.execute(EventPartitionStatements.appsWithPast).decode(Int64.self)
        }
        for app in apps {
            try await noteLoss(of: app, from: "events_default")
            while try await write({ try $0.execute(EventPartitionStatements.deletePast(of: app)).affectedRows }) > 0 {}
        }
        // The last, for a large default partition is read for each: with what is past it gets smaller.
        let missing = try await read { try $0.execute(EventPartitionStatements.missing).decode(String.self) }
        return (try await makeEventPartitions(missing), dropped)
    }

    /// Makes the partition into which an app's events of today go, before the first of them is written: a day that began in
    /// the default partition stays there.
    ///
    /// - Parameter retention: how long its events are kept from now on; nil for as long as they are.
    func makeEventPartition(of bundleID: BundleID, retention: Duration?) async throws {
        let missing = EventPartitionStatements.missing(for: bundleID, retention: retention)
        let names = try await read { session in
            do {
                return try session.execute(missing).decode(String.self)
            } catch let error as PostgresError where EventPartitionStatements.mayWait(error) {
                // The default partition takes too long to read, as it would to make another beside it. The day goes there.
                return []
            }
        }
        _ = try await makeEventPartitions(names)
    }

    /// - Returns: how many were made.
    private func makeEventPartitions(_ names: [String]) async throws -> Int {
        var made = 0
        for name in names where try await change(EventPartitionStatements.making(name)) { made += 1 }
        return made
    }

    /// Writes down up to which number events of an app go, before they do.
    private func noteLoss(of app: Int64, from partition: String) async throws {
        try await write { session in
            do {
                let last = try session.execute(EventPartitionStatements.lastPast(of: app, in: partition))[0]
                guard let number = try last.decode(Int64?.self) else { return }
                _ = try session.execute(EventPartitionStatements.noting(number, lostTo: app))
            } catch let error as PostgresError where error.sqlState == "42P01" {
                // Somebody else has dropped it.
            }
        }
    }

    /// - Returns: false when somebody else does it, or the table could not be had.
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

/// The statements that make and drop the audit trail's partitions, one for each day from which its events may go.
enum EventPartitionStatements {
    /// How many days ahead partitions are made: as long as sweeps may fail before events go to the default partition.
    private static let daysAhead = 3

    /// The lock under which partitions are changed; the transaction that gets it holds it until it ends.
    static let lock: SQL =
        "SELECT pg_try_advisory_xact_lock(hashtext('pushreg event partitions'), 'events'::regclass::oid::int)"

    /// Names of partitions that the coming days' events need: each app's retention leads to days of its own.
    static let missing: SQL = missing("SELECT a.event_retention FROM apps a", daysAhead: daysAhead)

    /// The name of the partition that an app's events of today need, the app made or not.
    static func missing(for bundleID: BundleID, retention: Duration?) -> SQL {
        missing(
            """
            SELECT coalesce(\(retention), (SELECT a.event_retention FROM apps a WHERE a.bundle_id = \(bundleID.rawValue)),
                \(AppSettings().eventRetention))
            """,
            daysAhead: 0
        )
    }

    /// Of a day of which events came before its partition did, all go to the default one.
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

    /// Names of partitions whose day has come.
    static let past: SQL = """
        SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_[0-9]{8}$'
            AND to_date(substr(c.relname, 8), 'YYYYMMDD') <= current_date
        ORDER BY c.relname
        """

    /// The wait for each lock that a change may take. Writers of events queue behind a drop: for a second, a fifth of what a
    /// request may take. Less is too little for Citus, whose transactions hold locks on dozens of shards for most of one.
    private static let lockTimeout = "SET LOCAL lock_timeout = '1s'"

    /// The commands that make a partition, within the transaction that has the lock. Each is sent by itself: Citus passes on
    /// to its other nodes the whole text that a command came in.
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

    /// The commands that drop a partition, each sent by itself, too.
    static func dropping(_ name: String) -> [String] { [lockTimeout, "DROP TABLE IF EXISTS \(name)"] }

    /// The greatest number of an app's events that may go from a partition.
    static func lastPast(of app: Int64, in partition: String) -> SQL {
        """
        SELECT max(past.event_number) FROM \(unescaped: partition) past
        WHERE past.app_number = \(app) AND past.drop_on <= current_date
        """
    }

    static func noting(_ number: Int64, lostTo app: Int64) -> SQL {
        """
        UPDATE apps a SET events_dropped_to = \(number)
        WHERE a.app_number = \(app) AND a.events_dropped_to < \(number)
        """
    }

    /// The apps of which events came before their partition was made, and may go. Not the table of apps: root's events belong
    /// to none, and those of a deleted app may be there still.
    static let appsWithPast: SQL = "SELECT DISTINCT app_number FROM events_default WHERE drop_on <= current_date"

    /// Deletes a page of an app's events that came before their partition was made. By their numbers, in whose order the
    /// primary key has them: a row's place tells Citus of no app.
    static func deletePast(of app: Int64) -> SQL {
        """
        DELETE FROM events_default e WHERE e.app_number = \(app) AND e.drop_on <= current_date AND e.event_number <= (
            SELECT max(page.event_number) FROM (
                SELECT past.event_number FROM events_default past
                WHERE past.app_number = \(app) AND past.drop_on <= current_date
                ORDER BY past.event_number LIMIT 10000
            ) AS page
        )
        """
    }

    /// Somebody else has the table, has made the partition, or wrote such events, or very many, into the default one: later.
    static func mayWait(_ error: PostgresError) -> Bool {
        ["55P03", "42P07", "23514", "40P01", "57014"].contains(error.sqlState ?? "")
    }
}
