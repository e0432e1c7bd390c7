import PostgresDriver

/// The statements that make and drop the audit trail's partitions, one for each day from which its events may go.
enum EventPartitionStatements {
    /// How many days ahead partitions are made: as long as sweeps may fail before events go to the default partition.
    private static let daysAhead = 3

    /// The lock under which partitions are changed; the transaction that gets it holds it until it ends.
    static let lock: SQL =
        "SELECT pg_try_advisory_xact_lock(hashtext('pushreg event partitions'), 'events'::regclass::oid::int)"

    /// Names of partitions that the coming days' events need: each app's retention leads to days of its own.
    static let missing: SQL = """
        SELECT name FROM (
            SELECT DISTINCT 'events_' || to_char((now() + a.event_retention)::date + 1 + ahead.days, 'YYYYMMDD') AS name
            FROM apps a CROSS JOIN generate_series(0, \(unescaped: "\(daysAhead)")) AS ahead (days)
        ) AS wanted
        WHERE to_regclass(wanted.name) IS NULL
        ORDER BY name
        """

    /// Names of partitions whose day has come.
    static let past: SQL = """
        SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_[0-9]{8}$'
            AND to_date(substr(c.relname, 8), 'YYYYMMDD') <= current_date
        ORDER BY c.relname
        """

    /// Nobody waits long behind it: the lock for writing an event is compatible with any but the drop's.
    private static let lockTimeout = "SET LOCAL lock_timeout = '200ms';"

    static func making(_ name: String) -> String {
        let day = name.suffix(8)
        return """
            \(lockTimeout)
            CREATE TABLE \(name) (LIKE events INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
            ALTER TABLE events ATTACH PARTITION \(name) FOR VALUES FROM (to_date('\(day)', 'YYYYMMDD'))
                TO (to_date('\(day)', 'YYYYMMDD') + 1);
            """
    }

    static func dropping(_ name: String) -> String { "\(lockTimeout) DROP TABLE IF EXISTS \(name);" }

    /// Deletes events that came before their partition was made.
    static let deletePast: SQL = """
        DELETE FROM events_default WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM events_default WHERE drop_on <= current_date LIMIT 10000
        ))
        """

    /// Somebody else has the table, has made the partition, or wrote such events into the default one: later.
    static func mayWait(_ error: PostgresError) -> Bool {
        ["55P03", "42P07", "23514", "40P01"].contains(error.sqlState ?? "")
    }
}
