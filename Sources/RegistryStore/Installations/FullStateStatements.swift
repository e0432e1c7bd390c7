import Foundation
import PostgresDriver
import RegistryCore

/// The statements of a full state (R9) around its registrations: locks before, and who fell out after.
struct FullStateStatements {
    let installation: InstallationHash
    let observedAt: Date
    let scope: Scope
    let who: UTF8Text

    /// Remembers the greatest `observedAt`.
    var remember: SQL {
        """
        UPDATE installations i SET previous_full_state_at = i.full_state_at,
            full_state_at = greatest(i.full_state_at, \(observedAt))
        WHERE \(sql: scope.contains("i"))
            AND i.installation_hash = \(installation.bytes)
        """
    }

    /// How many of the installation's activities have not ended, counted up to a limit.
    func running(limit: Int) -> SQL {
        "SELECT count(*) FROM (\(sql: runningIDs(limit: limit))) AS counted"
    }

    private func runningIDs(limit: Int) -> SQL {
        """
        SELECT a.activity_id FROM activities a
        WHERE \(sql: scope.contains("a"))
            AND a.installation_hash = \(installation.bytes) AND a.ended_at IS NULL LIMIT \(limit)
        """
    }

    /// Locks all that the full state touches in the order of ids, as registrations do: also who has the tokens so far.
    ///
    /// - Parameter limit: how many of the installation's activities are locked; where it has more, the full state is refused.
    func lock(listed ids: [ActivityID], tokens: [[UInt8]], limit: Int) -> SQL {
        """
        SELECT FROM activities a
        WHERE \(sql: scope.contains("a"))
            -- One list, for the index to be asked by: by several the planner may rather look through all of the app.
            AND a.activity_id = ANY(\(ids) || ARRAY(\(sql: runningIDs(limit: limit))) || ARRAY(
                SELECT t.activity_id FROM token_values t
                WHERE \(sql: scope.contains("t"))
                    AND t.token_digest = ANY(ARRAY(SELECT sha256(q.token) FROM unnest(\(tokens)) AS q (token)))
            ))
        ORDER BY a.activity_id FOR UPDATE
        """
    }

    /// Notes those that fall out: that they are dismissed follows from the times alone; this counts and tells it.
    func dismissal(listed ids: [ActivityID]) -> SQL {
        """
        UPDATE activities a SET outcome = 'dismissed', revision = a.revision + 1, touched_at = clock_timestamp()
        FROM installations i
        WHERE \(sql: scope.contains("i"))
            AND i.installation_hash = \(installation.bytes) AND i.full_state_at = \(observedAt)
            AND a.app_number = i.app_number AND a.environment = i.environment
            AND a.installation_hash = i.installation_hash AND a.ended_at IS NULL AND a.expires_at > now()
            AND a.activity_id <> ALL(\(ids))
            AND a.last_observed_at < i.full_state_at
            AND (i.previous_full_state_at IS NULL OR a.last_observed_at >= i.previous_full_state_at)
        RETURNING a.activity_id
        """
    }

    func event(listed ids: [ActivityID]) -> SQL {
        EventStatements.insertion(
            """
            SELECT 'dismissed' AS type, \(unescaped: EventStatements.columns(of: "a"))
            FROM activities a JOIN installations i ON i.app_number = a.app_number AND i.environment = a.environment
                AND i.installation_hash = a.installation_hash
            WHERE \(sql: scope.contains("a"))
                AND a.installation_hash = \(installation.bytes) AND a.ended_at IS NULL AND a.outcome = 'dismissed'
                AND a.activity_id <> ALL(\(ids)) AND i.full_state_at = \(observedAt)
                AND a.last_observed_at < i.full_state_at
                AND (i.previous_full_state_at IS NULL OR a.last_observed_at >= i.previous_full_state_at)
            """,
            by: who,
            in: scope
        )
    }
}
