import PostgresDriver
import RegistryCore

/// The statements that write retired tokens, from the rows that the same transaction has just merged.
enum RetirementStatements {
    /// The tokens that the batch's requests displaced, the last tokens of ended activities, and those taken over.
    static func registered(_ batch: RegistrationBatch, in scope: Scope) -> SQL {
        insertion(
            """
            SELECT r.* FROM \(sql: batch.merged(in: scope)) CROSS JOIN LATERAL (
                \(unescaped: displaced)
                UNION ALL
                SELECT loser.app_number, loser.environment, loser.activity_id, loser.token_digest,
                    loser.token_observed_at, 'taken-over'::retirement_reason
                FROM \(sql: formerHolders(in: scope))
            ) AS r
            """
        )
    }

    /// Forgets that the tokens of activities had expired which are running again.
    ///
    /// - Parameter activityIDs: an array.
    static func forgettingExpiry(of activityIDs: SQL, in scope: Scope) -> SQL {
        """
        DELETE FROM retired_tokens r WHERE \(sql: RowPlaces.isOf(scope.app.number, "r")) AND r.ctid = ANY(ARRAY(
            SELECT found.row FROM unnest(\(sql: activityIDs)) AS named (activity_id)
            CROSS JOIN LATERAL (
                SELECT its.* FROM activities its WHERE \(sql: scope.contains("its"))
                    AND its.activity_id = named.activity_id
                LIMIT 1
            ) AS a
            CROSS JOIN LATERAL (
                SELECT t.ctid AS row, t.reason FROM retired_tokens t WHERE \(sql: scope.contains("t"))
                    AND t.activity_id = a.activity_id AND t.token_digest = a.token_digest
                LIMIT 1
            ) AS found
            WHERE a.ended_at IS NULL AND a.expiry_recorded_at IS NULL AND found.reason = 'expired'
        ))
        """
    }

    /// The last tokens of activities that were ended.
    ///
    /// - Parameters:
    ///   - activityIDs: an array.
    ///   - isMerged: the condition that the end was merged into activity `a`.
    static func ended(_ activityIDs: SQL, where isMerged: SQL, in scope: Scope) -> SQL {
        insertion(
            """
            SELECT r.* FROM activities a CROSS JOIN LATERAL (\(unescaped: displaced)) AS r
            WHERE \(sql: scope.contains("a"))
                AND a.activity_id = ANY(\(sql: activityIDs)) AND \(sql: isMerged)
            """
        )
    }

    /// Activities whose token `t` belongs to another one since request `q`, or did before it. A request without
    /// `observedAt` whose token is retired claimed nothing, so it displaced nobody.
    static func formerHolders(in scope: Scope) -> SQL {
        """
        (SELECT * FROM activities other
        WHERE (t.displaced_activity_id IS NOT NULL OR t.activity_id <> q.activity_id)
            AND (q.observed_at IS NOT NULL OR a.token_digest = t.token_digest)
            AND \(sql: scope.contains("other"))
            AND other.activity_id = ANY(ARRAY[t.displaced_activity_id, q.activity_id])
            AND other.activity_id <> t.activity_id AND other.token_digest = t.token_digest AND other.ended_at IS NULL
        ) AS loser
        """
    }

    /// A displaced token was rotated away; the token that an ended activity had last is retired by its end. Which of
    /// the two holds depends on the merged row `a` alone, not on what came first.
    private static let displaced = """
        SELECT a.app_number, a.environment, a.activity_id, d.token_digest, d.observed_at, d.reason::retirement_reason
        FROM (
            VALUES (a.displaced_digest, a.displaced_observed_at, 'rotated'),
                (CASE WHEN a.ended_at IS NOT NULL THEN a.token_digest END, a.token_observed_at, 'ended')
        ) AS d (token_digest, observed_at, reason)
        WHERE d.token_digest IS NOT NULL
        """

    /// Writes a retired token for each row.
    ///
    /// - Parameter rows: a query of app, environment, activity, digest, time and reason.
    static func insertion(_ rows: SQL) -> SQL {
        let insertion = SQL.insertion(
            into: "retired_tokens",
            as: "stored",
            "app_number, environment, activity_id, token_digest, observed_at, reason",
            "\(sql: rows) ORDER BY 3, 4"
        )
        return """
            \(sql: insertion)
            ON CONFLICT (app_number, environment, activity_id, token_digest) DO UPDATE SET
                observed_at = greatest(stored.observed_at, excluded.observed_at), reason = excluded.reason
            """
    }
}
