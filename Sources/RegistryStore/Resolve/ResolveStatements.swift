import Foundation
import PostgresDriver
import RegistryCore

/// The statements that hand out tokens. All read the view `deliverable_activities`, which alone decides which tokens may be
/// handed out.
enum ResolveStatements {
    /// The activity of an alias's row. The limit keeps the planner from joining a whole crowd before the first page:
    /// rows are read in the order of the alias's index, one lookup each.
    private static func current(in scope: Scope) -> SQL {
        """
        (SELECT \(ResolvedActivity.columns) FROM deliverable_activities cur
        WHERE \(sql: scope.contains("cur")) AND cur.activity_key = al.activity_key
            AND cur.activity_key > 0 LIMIT 1) AS c
        """
    }

    /// Rows of an alias in the order of the immutable key. Withheld activities do not make the statement longer.
    static func page(of alias: Alias, after key: Int64, limit: Int, in scope: Scope) -> SQL {
        """
        SELECT \(AliasRow.columns) FROM \(sql: rows(of: alias, after: key, limit: limit, in: scope))
        LEFT JOIN LATERAL \(sql: current(in: scope)) ON true
        ORDER BY al.activity_key
        """
    }

    /// The alias's rows `al` that resolve reads, as an item of `FROM`.
    static func rows(of alias: Alias, after key: Int64, limit: Int, in scope: Scope) -> SQL {
        """
        (
            SELECT al.activity_key FROM activity_aliases al
            WHERE \(sql: isRow(of: alias, in: scope)) AND al.activity_key > \(key)
            ORDER BY al.activity_key LIMIT \(limit)
        ) AS al
        """
    }

    /// The activities of an alias's rows up to a key, in the order of keys.
    static func range(of alias: Alias, after key: Int64, through last: Int64, in scope: Scope) -> SQL {
        """
        SELECT c.* FROM activity_aliases al CROSS JOIN LATERAL \(sql: current(in: scope))
        WHERE \(sql: isRow(of: alias, in: scope)) AND al.activity_key > \(key) AND al.activity_key <= \(last)
        ORDER BY al.activity_key
        """
    }

    /// For ranges in which most activities are the alias's: all are read in order, and the others are left out. `IS
    /// TRUE` keeps the alias's rows a hashed set that is asked about each row.
    static func denseRange(of alias: Alias, after key: Int64, through last: Int64, in scope: Scope) -> SQL {
        """
        SELECT \(ResolvedActivity.columns) FROM deliverable_activities cur
        WHERE \(sql: scope.contains("cur")) AND cur.activity_key > 0
            AND cur.activity_key > \(key) AND cur.activity_key <= \(last)
            AND (cur.activity_key IN (
                SELECT al.activity_key FROM activity_aliases al
                WHERE \(sql: isRow(of: alias, in: scope))
                    AND al.activity_key > \(key) AND al.activity_key <= \(last)
            )) IS TRUE
        ORDER BY cur.activity_key
        """
    }

    static func key(of alias: Alias, after key: Int64, count: Int, in scope: Scope) -> SQL {
        """
        SELECT al.activity_key FROM activity_aliases al
        WHERE \(sql: isRow(of: alias, in: scope)) AND al.activity_key > \(key)
        ORDER BY al.activity_key LIMIT 1 OFFSET \(count - 1)
        """
    }

    /// Row `al` is one of the alias that resolve reads.
    private static func isRow(of alias: Alias, in scope: Scope) -> SQL {
        """
        \(sql: scope.contains("al"))
            AND al.kind = \(alias.kind) AND al.value = \(alias.value) AND NOT al.ended
        """
    }

    /// The first rows of many aliases; each begins with the alias's position in the request. They arrive alias by
    /// alias, because lateral joins run in that order; so the limit of all leaves out the last aliases. Within an alias
    /// they are unsorted: sorting such wide rows costs more than sorting a few numbers afterwards. `OFFSET 0` keeps the
    /// planner from caching activities that no other alias will ask for.
    static func resolve(_ aliases: [Alias], limitPerAlias: Int, limit: Int, in scope: Scope) -> SQL {
        """
        SELECT q.position, c.*
        FROM unnest(\(aliases.map(\.kind)), \(aliases.map(\.value))) WITH ORDINALITY AS q (kind, value, position)
        CROSS JOIN LATERAL (
            SELECT \(AliasRow.columns) FROM (
                SELECT al.activity_key FROM activity_aliases al
                WHERE \(sql: scope.contains("al"))
                    AND al.kind = q.kind AND al.value = q.value AND NOT al.ended
                ORDER BY al.activity_key LIMIT \(limitPerAlias)
            ) AS al
            LEFT JOIN LATERAL \(sql: current(in: scope)) ON true
            OFFSET 0
        ) AS c
        LIMIT \(limit)
        """
    }

    /// Running or not; the token only while it is handed out.
    static func activity(_ id: ActivityID, in scope: Scope) -> SQL {
        """
        SELECT \(ActivityRecord.columns)
        FROM (
            SELECT * FROM explained_activities its
            WHERE \(sql: scope.contains("its")) AND its.activity_id = \(id.rawValue) LIMIT 1
        ) AS a
        """
    }

    /// Each row begins with the alias's position in the request.
    static func channels(of aliases: [Alias], in scope: Scope) -> SQL {
        """
        SELECT \(BroadcastChannel.positioned)
        FROM unnest(\(aliases.map(\.kind)), \(aliases.map(\.value))) WITH ORDINALITY AS q (kind, value, position)
        CROSS JOIN LATERAL (
            SELECT ch.channel_id, ch.message_storage_policy FROM channels ch
            WHERE \(sql: scope.contains("ch"))
                AND ch.kind = q.kind AND ch.value = q.value LIMIT 1
        ) AS c
        """
    }
}

extension ResolvedActivity {
    static let columns = Columns(sql: names(of: "cur", key: "cur.activity_key")) { row in
        try ResolvedActivity(
            key: row.next(),
            activityID: row.next(),
            token: row.next(),
            installation: row.next(),
            facts: row.next(facts),
            startedAt: row.next(),
            startsAt: row.next(),
            observedAt: row.next(),
            confirmedAt: row.next(),
            expiresAt: row.next(),
            revision: row.next()
        )
    }

    private static let facts = ActivityFacts.columns(of: "cur")

    static func names(of row: String, key: String) -> String {
        """
        \(key), \(row).activity_id, \(row).token, \(row).installation_hash, \(ActivityFacts.columns(of: row).sql),
        \(row).started_at, \(row).starts_at, \(row).token_observed_at, \(row).confirmed_at, \(row).expires_at, \(row).revision
        """
    }
}

extension ActivityRecord {
    static let columns = Columns(
        ActivityAnswer.columns(of: "a"),
        .one("nullif(a.reason, 'no-token')"),
        .one("CASE WHEN a.reason IS NULL THEN a.token END"),
        .one("a.installation_hash"),
        ActivityFacts.columns(of: "a"),
        .one("a.started_at"),
        .one("a.starts_at"),
        as: { (answer: ActivityAnswer, reason: String?, token, installation, facts, startedAt, startsAt) in
            var answer = answer
            if answer.state == .active { answer.reason = reason }
            return ActivityRecord(
                answer: answer,
                token: token,
                installation: installation,
                facts: facts,
                startedAt: startedAt,
                startsAt: startsAt
            )
        }
    )
}

extension BroadcastChannel {
    static let columns = Columns(
        .one("c.channel_id"),
        .raw("c.message_storage_policy"),
        as: { (id: UTF8Text, policy: StoragePolicy) in BroadcastChannel(stored: id, storagePolicy: policy) }
    )

    /// After the position of a request `q`.
    static let positioned = columns.positioned
}
