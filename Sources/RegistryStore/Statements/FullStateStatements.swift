import Foundation
import PostgresDriver
import RegistryCore

/// The statements of a full state (R9) around its registrations: locks before, and who fell out after.
struct FullStateStatements {
    let installation: InstallationHash
    let observedAt: Date
    let scope: Scope
    let who: String

    private var app: Int64 { scope.app.number }
    private var environment: String { scope.environment.rawValue }

    /// Remembers the greatest `observedAt`.
    var remember: SQL {
        """
        UPDATE installations i SET previous_full_state_at = i.full_state_at,
            full_state_at = greatest(i.full_state_at, \(observedAt))
        WHERE i.app_number = \(app) AND i.environment = \(environment)::apns_environment
            AND i.installation_hash = \(installation.bytes)
        """
    }

    /// Locks all that the full state touches in the order of ids, as registrations do: also who has the tokens so far.
    func lock(listed ids: [String], tokens: [[UInt8]]) -> SQL {
        """
        SELECT FROM activities a
        WHERE a.app_number = \(app) AND a.environment = \(environment)::apns_environment
            AND (a.activity_id = ANY(\(ids)) OR (a.installation_hash = \(installation.bytes) AND a.ended_at IS NULL)
                OR a.activity_id = ANY(ARRAY(
                    SELECT t.activity_id FROM token_values t
                    WHERE t.app_number = \(app) AND t.environment = \(environment)::apns_environment
                        AND t.token_digest = ANY(ARRAY(SELECT sha256(q.token) FROM unnest(\(tokens)) AS q (token)))
                )))
        ORDER BY a.activity_id FOR UPDATE
        """
    }

    /// Notes those that fall out: that they are dismissed follows from the times alone; this counts and tells it.
    func dismissal(listed ids: [String]) -> SQL {
        """
        UPDATE activities a SET outcome = 'dismissed', revision = a.revision + 1, touched_at = clock_timestamp()
        FROM installations i
        WHERE i.app_number = \(app) AND i.environment = \(environment)::apns_environment
            AND i.installation_hash = \(installation.bytes) AND i.full_state_at = \(observedAt)
            AND a.app_number = i.app_number AND a.environment = i.environment
            AND a.installation_hash = i.installation_hash AND a.ended_at IS NULL AND a.expires_at > now()
            AND a.activity_id <> ALL(\(ids))
            AND a.last_observed_at < i.full_state_at
            AND (i.previous_full_state_at IS NULL OR a.last_observed_at >= i.previous_full_state_at)
        RETURNING a.activity_id
        """
    }

    func event(listed ids: [String]) -> SQL {
        EventStatements.insertion(
            """
            SELECT 'dismissed' AS type, \(unescaped: EventStatements.columns(of: "a"))
            FROM activities a JOIN installations i ON i.app_number = a.app_number AND i.environment = a.environment
                AND i.installation_hash = a.installation_hash
            WHERE a.app_number = \(app) AND a.environment = \(environment)::apns_environment
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
