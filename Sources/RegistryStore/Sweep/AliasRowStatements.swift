import PostgresDriver
import RegistryCore

/// The sweep's statements that keep `activity_aliases` equal to the activities' own columns.
///
/// Each finds an activity's rows by its current or former aliases, through the index that resolve uses. Every writer of
/// an activity's rows holds the lock of the activity's own row, so they do not move between lookup and write.
///
enum AliasRowStatements {
    /// Removes ended or expired activities from the rows that resolve reads.
    static func close(_ ids: SQL, in scope: Scope) -> SQL {
        let over: SQL = "(\(unescaped: isOver))"
        let rows = rows(of: "a.aliases", activities(ids, in: scope), scope, where: over, "false")
        return "UPDATE activity_aliases al SET ended = true \(sql: rows)"
    }

    static func deletion(_ ids: SQL, in scope: Scope) -> SQL {
        let rows = rows(of: "a.aliases", activities(ids, in: scope), scope, where: "true", isOver)
        return "DELETE FROM activity_aliases al \(sql: rows)"
    }

    private static let isOver = "a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL"

    private static func activities(_ ids: SQL, in scope: Scope) -> SQL {
        "(SELECT m.* FROM activities m WHERE \(sql: scope.contains("m")) AND m.activity_id = ANY(\(sql: ids)))"
    }

    private static func aliases(_ column: String, of activities: SQL) -> SQL {
        """
        \(sql: activities) AS a CROSS JOIN LATERAL jsonb_each(\(unescaped: column)) AS kinds
        CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values
        """
    }

    /// The rows of the aliases in a column, one lookup each: the planner expects thousands, and would read the whole
    /// table.
    private static func rows(
        of column: String,
        _ activities: SQL,
        _ scope: Scope,
        where condition: SQL,
        _ ended: String
    ) -> SQL {
        """
        WHERE \(sql: RowPlaces.isOf(scope, "al")) AND al.ctid = ANY(ARRAY(
            SELECT found.row FROM \(sql: aliases(column, of: activities)) CROSS JOIN LATERAL (
                SELECT r.ctid AS row FROM activity_aliases r
                WHERE \(sql: scope.contains("r")) AND r.kind = kinds.key AND r.value = alias_values.value AND r.ended = (\(unescaped: ended))
                    AND r.activity_key = a.activity_key
                LIMIT 1
            ) AS found
            WHERE \(sql: condition)
        ))
        """
    }
}
