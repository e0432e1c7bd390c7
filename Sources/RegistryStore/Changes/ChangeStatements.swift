import Foundation
import PostgresDriver
import RegistryCore

/// The statements that read the change feed: a snapshot cut of the audit trail.
enum ChangeStatements {
    static let lastNumber: SQL = "SELECT last_value FROM events_event_number_seq"

    /// The present snapshot, whether its commits survive a crash, and the identity of this database, which a restored
    /// one and a promoted standby do not share.
    static let moment: SQL = """
        SELECT pg_current_snapshot()::text, (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
            pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn(),
            (SELECT c.system_identifier FROM pg_control_system() AS c),
            (SELECT d.oid::bigint FROM pg_database d WHERE d.datname = current_database()),
            'events'::regclass::oid::bigint,
            substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
        """

    /// Writes and flushes an unread message, and with it all earlier writes. It waits for no standby: a position is not
    /// valid on a promoted one anyway.
    static let flush: SQL = """
        SELECT set_config('synchronous_commit', 'local', true), pg_logical_emit_message(true, 'pushreg', '')
        """

    static func lastDropped(of app: App) -> SQL {
        "SELECT a.events_dropped_to FROM apps a WHERE a.app_id = \(app.id)"
    }

    /// An id that is later than those of all transactions that drew the numbers so far.
    static let mark: SQL = "SELECT pg_current_xact_id()::text"

    /// A page of the events that one snapshot sees and an earlier one does not, in the order of their numbers.
    ///
    /// - Parameters:
    ///   - number: all are greater than it.
    ///   - last: and no greater than this.
    static func page(
        since: TransactionSnapshot,
        until upper: TransactionSnapshot,
        after number: Int64,
        through last: Int64 = .max,
        limit: Int,
        in scope: Scope
    ) -> SQL {
        """
        SELECT \(ChangeEvent.columns) FROM (
            SELECT * FROM events n
            WHERE \(sql: scope.contains("n")) AND n.event_number > \(number) AND n.event_number <= \(last)
                AND NOT pg_visible_in_snapshot(n.transaction_id, \(since.text)::pg_snapshot)
                AND pg_visible_in_snapshot(n.transaction_id, \(upper.text)::pg_snapshot)
            ORDER BY n.event_number LIMIT \(limit)
        ) AS e
        LEFT JOIN LATERAL (
            SELECT its.attributes_type, its.end_reason FROM activities its
            WHERE \(sql: scope.contains("its")) AND its.activity_id = e.activity_id
            LIMIT 1
        ) AS a ON true
        ORDER BY e.event_number
        """
    }
}

struct ChangeEvent {
    let number: Int64
    let recordedAt: Date
    let type: String
    let activityID: UTF8Text?
    let installation: InstallationHash?
    let aliases: [UInt8]?
    let tokenKind: String?
    let attributesType: UTF8Text?
    let endReason: String?

    static let columns = Columns(
        .one("e.event_number"),
        .one("e.recorded_at"),
        .one("e.type"),
        .one("e.activity_id"),
        .one("e.installation_hash"),
        .json("e.aliases"),
        .one("e.token_kind"),
        .one("coalesce(e.attributes_type, a.attributes_type)"),
        .one("a.end_reason::text"),
        as: ChangeEvent.init
    )
}
