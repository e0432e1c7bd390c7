import PostgresDriver
import RegistryCore

extension RegistrationBatch {
    /// The requests with their effective times: of the token's claim, of aliases and facts, and of the activity's
    /// start; next to the row of the app, which is called `app`.
    func timed(in scope: Scope) -> SQL {
        let times: SQL =
            shape.needsReceiptOrder
            ? Self.receiptTimes(in: scope)
            : "q.observed_at AS claimed_at, false AS ends_quarantine, q.observed_at AS given_at"
        return """
            SELECT q.*, clock.received_at, \(sql: times),
                its.full_state_at AS installation_full_state_at, its.removed_at AS installation_removed_at,
                \(sql: shape.hasStarts ? Self.schedule : "NULL::timestamptz") AS scheduled_at,
                least(coalesce(q.started_at, q.observed_at, clock.received_at), clock.received_at) AS said_started_at
            FROM \(sql: rows)
            CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE q.activity_id IS NOT NULL) AS clock
            \(sql: known(in: scope))
            \(sql: shape.needsReceiptOrder ? Self.retired(in: scope) : "")
            """
    }

    /// The activities as `known`, and their installations `its`, or the requests' for new activities: the
    /// installations' times are merged with the requests, because the merge itself may read no table if tables are
    /// distributed.
    private func known(in scope: Scope) -> SQL {
        let columns = ["installation_hash"] + (shape.needsReceiptOrder ? Self.columnsOfReceiptTimes : [])
        return """
            LEFT JOIN LATERAL (
                SELECT \(unescaped: columns.map { "k.\($0)" }.joined(separator: ", ")) FROM activities k
                WHERE \(sql: scope.contains("k")) AND k.activity_id = q.activity_id
                LIMIT 1
            ) AS known ON true
            LEFT JOIN LATERAL (
                SELECT i.full_state_at, i.removed_at FROM installations i
                WHERE \(sql: scope.contains("i"))
                    AND i.installation_hash = coalesce(known.installation_hash, q.installation_hash)
                LIMIT 1
            ) AS its ON true
            """
    }

    /// R5: a start is scheduled if it lies after the observation. An observation older than an activity's lifetime may
    /// concern one without a tombstone (R4), so it cannot schedule a start.
    private static let schedule: SQL = """
        CASE WHEN q.starts_at > coalesce(q.observed_at, clock.received_at) AND (q.was_accepted
            OR coalesce(q.observed_at > clock.received_at - app.activity_lifetime, true)) THEN q.starts_at END
        """

    private static let columnsOfReceiptTimes = ["token_digest", "token_observed_at", "token_claimed_at"]

    /// R3: a repeated current token claims nothing new; a retired one keeps its earlier claim, and so loses; another
    /// counts as observed now.
    private static func receiptTimes(in scope: Scope) -> SQL {
        """
        CASE WHEN q.observed_at IS NOT NULL THEN q.observed_at
        WHEN known.token_digest = q.token_digest THEN known.token_observed_at
        ELSE coalesce(retired.observed_at, clock.received_at) END AS claimed_at,
        q.observed_at IS NULL AND known.token_digest = q.token_digest
        AND \(sql: QuarantineStatements.isEndedByReceipt(claimedAt: "token_claimed_at", in: scope))
        AS ends_quarantine,
        CASE WHEN q.observed_at IS NOT NULL THEN q.observed_at
        WHEN known.token_digest <> q.token_digest THEN coalesce(retired.observed_at, clock.received_at)
        ELSE clock.received_at END AS given_at
        """
    }

    /// The earlier claim of a request's activity on its token: it is in the value's row, unless another activity has
    /// the value.
    private static func retired(in scope: Scope) -> SQL {
        """
        CROSS JOIN LATERAL (
            SELECT max(claims.observed_at) AS observed_at FROM (
                SELECT v.observed_at FROM token_values v
                WHERE q.observed_at IS NULL AND \(sql: scope.contains("v")) AND v.token_digest = q.token_digest
                    AND v.activity_id = q.activity_id
                UNION ALL
                SELECT f.observed_at FROM former_claims f
                WHERE q.observed_at IS NULL AND \(sql: scope.contains("f")) AND f.activity_id = q.activity_id
                    AND f.token_digest = q.token_digest
            ) AS claims
        ) AS retired
        """
    }
}
