import PostgresDriver
import RegistryCore

/// The statements that keep `activity_aliases` what the activities' own columns say.
///
/// Each finds an activity's rows by the aliases that the activity has or had, through the one index that resolve uses.
/// All who write an activity's rows hold the lock of the activity's own row, so they do not move between the lookup and
/// the write. Registrations write those of the activities alone that they have merged: of one that was refused, and is not
/// locked, the columns may be about to change.
enum AliasRowStatements {
    /// Removes what the last request replaced.
    ///
    /// - Parameter activities: the rows of the activities, as an item of `FROM`, here and below.
    static func removal(of activities: SQL, in scope: Scope) -> SQL {
        let gone: SQL = "NOT coalesce(a.aliases -> kinds.key ? alias_values.value, false)"
        return
            "DELETE FROM activity_aliases al \(sql: rows(of: "a.displaced_aliases", activities, scope, where: gone, isOver))"
    }

    /// Adds what the last request gave.
    static func insertion(of activities: SQL) -> SQL {
        """
        INSERT INTO activity_aliases (app_number, environment, kind, value, ended, activity_number)
        SELECT a.app_number, a.environment, kinds.key, alias_values.value, \(unescaped: isOver), a.activity_number
        FROM \(sql: aliases("a.aliases", of: activities))
        WHERE a.aliases_changed
        ON CONFLICT DO NOTHING
        """
    }

    /// Takes activities that are over out of the rows that resolve reads.
    static func close(_ ids: SQL, in scope: Scope) -> SQL {
        let over: SQL = "(\(unescaped: isOver))"
        let rows = rows(of: "a.aliases", activities(ids, in: scope), scope, where: over, "false")
        return "UPDATE activity_aliases al SET ended = true \(sql: rows)"
    }

    /// Puts activities that are running again back into the rows that resolve reads, which are those of the aliases that they had.
    static func reopening(of activities: SQL, in scope: Scope) -> SQL {
        // Said so that the index of those that run cannot be asked: it has them by the time of their expiry.
        let running: SQL = "(NOT (\(unescaped: isOver))) IS TRUE"
        let rows = rows(of: "coalesce(a.displaced_aliases, a.aliases)", activities, scope, where: running, "true")
        return "UPDATE activity_aliases al SET ended = false \(sql: rows)"
    }

    /// Removes all rows of activities.
    static func deletion(_ ids: SQL, in scope: Scope) -> SQL {
        let rows = rows(of: "a.aliases", activities(ids, in: scope), scope, where: "true", isOver)
        return "DELETE FROM activity_aliases al \(sql: rows)"
    }

    /// The value of the rows' column `ended` for activity `a`.
    private static let isOver = "a.ended_at IS NOT NULL OR a.expiry_recorded_at IS NOT NULL"

    /// The rows of activities.
    ///
    /// - Parameter ids: an array.
    private static func activities(_ ids: SQL, in scope: Scope) -> SQL {
        "(SELECT m.* FROM activities m WHERE \(sql: scope.contains("m")) AND m.activity_id = ANY(\(sql: ids)))"
    }

    /// Activities `a`, each with the aliases in one of its columns.
    private static func aliases(_ column: String, of activities: SQL) -> SQL {
        """
        \(sql: activities) AS a CROSS JOIN LATERAL jsonb_each(\(unescaped: column)) AS kinds
        CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values
        """
    }

    /// The rows of the aliases in a column, looked up one by one: the planner believes that there are thousands, and
    /// would read the whole table.
    private static func rows(
        of column: String,
        _ activities: SQL,
        _ scope: Scope,
        where condition: SQL,
        _ ended: String
    ) -> SQL {
        """
        WHERE \(sql: RowPlaces.isOf(scope.app.number, "al")) AND al.ctid = ANY(ARRAY(
            SELECT found.row FROM \(sql: aliases(column, of: activities)) CROSS JOIN LATERAL (
                SELECT r.ctid AS row FROM activity_aliases r
                WHERE \(sql: scope.contains("r")) AND r.kind = kinds.key AND r.value = alias_values.value AND r.ended = (\(unescaped: ended))
                    AND r.activity_number = a.activity_number
                LIMIT 1
            ) AS found
            WHERE \(sql: condition)
        ))
        """
    }
}
