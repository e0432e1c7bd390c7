import PostgresDriver
import RegistryCore

/// The statements that write retired tokens, from the rows that the same transaction has just merged.
enum RetirementStatements {
    /// The tokens that the batch's requests displaced, the last tokens of ended activities, and those taken over.
    static func registered(_ batch: RegistrationBatch, in scope: Scope) -> SQL {
        insertion(
            """
            \(sql: displaced(batch.activityIDs, in: scope))
            UNION ALL
            SELECT loser.app_number, loser.environment, loser.activity_id, loser.token_digest, loser.token_observed_at,
                'taken-over'::retirement_reason
            FROM (\(sql: losers(batch, in: scope))) AS loser
            """
        )
    }

    /// The last tokens of activities that were ended.
    static func ended(_ activityIDs: [String], in scope: Scope) -> SQL {
        insertion(displaced(activityIDs, in: scope))
    }

    /// Activities whose token belongs to another one since the batch's requests, or did before them.
    static func losers(_ batch: RegistrationBatch, in scope: Scope) -> SQL {
        """
        SELECT loser.*, q.who AS claimed_by, loser.activity_id IS NOT DISTINCT FROM t.displaced_activity_id AS displaced
        FROM \(sql: batch.mergedClaims(in: scope))
        JOIN token_values t ON t.app_number = \(scope.app.number)
            AND t.environment = \(scope.environment.rawValue)::apns_environment AND t.token_digest = sha256(q.token)
        JOIN activities loser ON loser.app_number = t.app_number AND loser.environment = t.environment
            AND loser.activity_id = ANY(ARRAY[t.displaced_activity_id, q.activity_id])
            AND loser.activity_id <> t.activity_id AND loser.token_digest = t.token_digest
            AND loser.ended_at IS NULL
        \(sql: batch.needsReceiptOrder ? claimants(in: scope) : "")
        """
    }

    /// A request without `observedAt` whose token is retired claimed nothing, so it displaced nobody.
    private static func claimants(in scope: Scope) -> SQL {
        """
        JOIN activities claimant ON claimant.app_number = \(scope.app.number)
            AND claimant.environment = \(scope.environment.rawValue)::apns_environment
            AND claimant.activity_id = q.activity_id
            AND (q.observed_at IS NOT NULL OR claimant.token_digest = t.token_digest)
        """
    }

    /// A displaced token was rotated away; the token that an ended activity had last is retired by its end. Which of
    /// the two holds depends on the merged row alone, not on what came first.
    private static func displaced(_ activityIDs: [String], in scope: Scope) -> SQL {
        """
        SELECT a.app_number, a.environment, a.activity_id, d.token_digest, d.observed_at, d.reason::retirement_reason
        FROM activities a CROSS JOIN LATERAL (
            VALUES (a.displaced_digest, a.displaced_observed_at, 'rotated'),
                (CASE WHEN a.ended_at IS NOT NULL THEN a.token_digest END, a.token_observed_at, 'ended')
        ) AS d (token_digest, observed_at, reason)
        WHERE a.app_number = \(scope.app.number) AND a.environment = \(scope.environment.rawValue)::apns_environment
            AND a.activity_id = ANY(\(activityIDs)) AND d.token_digest IS NOT NULL
            AND \(unescaped: RegistrationBatch.isMerged)
        """
    }

    /// Writes a retired token for each row.
    ///
    /// - Parameter rows: a query of app, environment, activity, digest, time and reason.
    static func insertion(_ rows: SQL) -> SQL {
        """
        INSERT INTO retired_tokens AS stored (app_number, environment, activity_id, token_digest, observed_at, reason)
        \(sql: rows)
        ORDER BY 3, 4
        ON CONFLICT (app_number, environment, activity_id, token_digest) DO UPDATE SET
            observed_at = greatest(stored.observed_at, excluded.observed_at), reason = excluded.reason
        """
    }
}
