import PostgresDriver
import RegistryCore

/// The statements that tell one activity's whole life, beside its audit trail.
struct ActivityLifeStatements {
    let id: ActivityID
    let scope: Scope

    /// How many of its earlier tokens are shown.
    static let mostRetired = 100

    private func matches(_ row: String) -> SQL {
        """
        \(unescaped: row).activity_id = \(id.rawValue) AND \(unescaped: row).app_number = \(scope.app.number)
        AND \(unescaped: row).environment = \(scope.environment.rawValue)::apns_environment
        """
    }

    /// All that its row says, and that of its installation `i`, whether or not it has ended.
    var life: SQL {
        let candidates = SearchStatements(scope: scope, limit: 1).candidates(.id(id.rawValue))
        return """
            \(sql: ExplainStatements.activities(ActivityLife.columns, among: "(\(sql: candidates) LIMIT 1)"))
            LEFT JOIN LATERAL (SELECT * FROM installations its WHERE \(sql: scope.contains("its"))
                AND its.installation_hash = a.installation_hash LIMIT 1) AS i ON true
            """
    }

    /// The tokens that it had, the latest first; its last one among them where that is dead and no other came. One that
    /// it has again is not among them.
    var retired: SQL {
        """
        SELECT substr(r.token_digest, 1, 4), r.observed_at, r.reason::text, r.retired_at
        FROM activities a
        JOIN retired_tokens r ON \(sql: matches("r"))
            AND (r.token_digest IS DISTINCT FROM a.token_digest OR r.observed_at >= a.token_observed_at)
        WHERE \(sql: matches("a"))
        UNION ALL
        SELECT substr(a.token_digest, 1, 4), a.token_observed_at, 'unregistered', t.dead_at
        FROM activities a
        JOIN token_values t ON t.app_number = a.app_number AND t.environment = a.environment
            AND t.token_digest = a.token_digest AND t.activity_id = a.activity_id AND t.dead_at >= a.token_claimed_at
        WHERE \(sql: matches("a")) AND NOT EXISTS (
            SELECT FROM retired_tokens r
            WHERE \(sql: matches("r")) AND r.token_digest = a.token_digest AND r.observed_at >= a.token_observed_at
        )
        ORDER BY 2 DESC LIMIT \(Self.mostRetired)
        """
    }
}
