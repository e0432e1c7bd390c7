import Foundation
import PostgresDriver
import RegistryCore

/// The statements of a batch of registrations, sent in one round trip and committed as one transaction.
///
/// They are separate statements instead of one with many CTEs: each then sees the commits during the first one's wait
/// for its row locks. The consequences are one statement: all rows that it reads are locked by then. Rows are locked in
/// one order everywhere (installation, activities by the bytes of their ids, tokens by digest, former claims by key).
/// The exceptions are rows created before the others are locked, and losers that got their token meanwhile: if batches
/// deadlock there, Postgres ends one of them, and it is retried.
struct RegistrationStatements {
    let batch: RegistrationBatch
    let scope: Scope
    /// A distributed Postgres rejects insertions in a CTE: the consequences are then several statements.
    var isDistributed = false

    var all: [SQL] {
        let consequences = RegistrationConsequences(batch: batch, scope: scope)
        return (batch.shape.needsReceiptOrder ? [creation, lock] : [lock]) + [merge, ownership]
            + (batch.shape.hasStarts ? [consequences.reopening] : [])
            + (isDistributed ? consequences.apart : [consequences.together])
    }

    var mergeIndex: Int { batch.shape.needsReceiptOrder ? 2 : 1 }
    var ownershipIndex: Int { mergeIndex + 1 }

    // MARK: Locks

    /// Inserts the missing rows, so that there is a row to lock.
    private var creation: SQL {
        let insertion = SQL.insertion(
            into: "activities",
            "scope_id, activity_id, started_at, lifetime, expires_at, outcome, created_at",
            """
            SELECT \(scope.id), q.activity_id, now(), app.activity_lifetime,
                now() + app.activity_lifetime, 'observed'::activity_outcome, now()
            FROM apps app CROSS JOIN \(sql: batch.rows(["activity_id", "observed_at"]))
            WHERE app.app_id = \(scope.app.id) AND q.observed_at IS NULL AND NOT \(sql: isErasedActivity)
            ORDER BY q.activity_id COLLATE "C"
            """
        )
        return "\(sql: insertion)\nON CONFLICT (scope_id, activity_id) DO NOTHING"
    }

    /// Without `observedAt` the order is that of receipt, which is the order in which this lock is got: only then
    /// may the next statement ask whether the token is retired. With it only a takeover needs a lock beforehand: the
    /// loser's row is written last and would be out of order.
    private var lock: SQL {
        let takeover = Self.takeover(of: batch, in: scope)
        return """
            SELECT FROM activities a
            WHERE \(sql: scope.contains("a"))
                AND a.activity_id = ANY(\(sql: batch.shape.needsReceiptOrder
                    ? "coalesce(\(sql: takeover), \(sql: batch.activityIDs))" : takeover))
            ORDER BY a.activity_id FOR UPDATE
            """
    }

    /// The ids to lock if an activity has a token that another one of the batch claims: both, and all of the batch;
    /// null if there is none.
    private static func takeover(of batch: RegistrationBatch, in scope: Scope) -> SQL {
        """
        (SELECT \(sql: batch.activityIDs)::text[] || array_agg(t.activity_id)
        FROM \(sql: batch.rows(["activity_id", "token_digest"])) CROSS JOIN LATERAL (
            SELECT v.activity_id FROM token_values v
            WHERE \(sql: scope.contains("v"))
                AND v.token_digest = q.token_digest AND v.activity_id <> q.activity_id
            LIMIT 1
        ) AS t
        HAVING count(*) > 0)::text[]
        """
    }

    // MARK: The merge

    /// One upsert an activity; always writes, so that a repeated request is as durable as the first (R1).
    private var merge: SQL {
        let insertion = SQL.insertion(
            into: "activities",
            as: "stored",
            """
            scope_id, activity_id, token, token_digest, token_observed_at, token_claimed_at,
            last_observed_at, started_at, starts_at, starts_at_observed_at, lifetime, expires_at, confirmed_at,
            installation_hash, installation_observed_at, subject, subject_observed_at,
            \(StoredFact.all.map { "\($0.name), \($0.time)" }.joined(separator: ", ")),
            aliases, aliases_observed_at, aliases_changed, metadata, metadata_observed_at, outcome, created_at, touched_at,
            batch_number, installation_full_state_at, installation_removed_at
            """,
            """
            SELECT \(scope.id), r.activity_id, r.token, r.token_digest,
                CASE WHEN r.token IS NOT NULL THEN r.claimed_at END,
                CASE WHEN r.ends_quarantine THEN r.received_at
                    WHEN r.token IS NOT NULL THEN least(r.claimed_at, r.received_at) END, r.claimed_at,
                r.said_started_at, r.scheduled_at, CASE WHEN r.scheduled_at IS NOT NULL THEN r.given_at END,
                app.activity_lifetime, greatest(r.said_started_at, r.scheduled_at) + app.activity_lifetime,
                CASE WHEN r.token IS NOT NULL THEN r.received_at END,
                r.installation_hash, CASE WHEN r.installation_hash IS NOT NULL THEN r.given_at END,
                r.subject, CASE WHEN r.subject IS NOT NULL THEN r.given_at END,
                \(unescaped: StoredFact.all.map(Self.given).joined(separator: ", ")),
                r.aliases, CASE WHEN r.aliases IS NOT NULL THEN coalesce(r.aliases_given_at, r.given_at) END,
                r.aliases IS NOT NULL,
                r.metadata, CASE WHEN r.metadata IS NOT NULL THEN r.given_at END,
                CASE WHEN greatest(r.said_started_at, r.scheduled_at) + app.activity_lifetime <= now()
                    THEN 'expired'::activity_outcome ELSE 'registered' END,
                r.received_at, now(), \(sql: batch.number), r.installation_full_state_at, r.installation_removed_at
            FROM apps app CROSS JOIN LATERAL (\(sql: batch.timed(in: scope))) AS r
            WHERE app.app_id = \(scope.app.id) AND (r.observed_at IS NULL OR r.observed_at <= now() + interval '5 minutes')
                AND NOT \(sql: isErased)
            ORDER BY r.activity_id COLLATE "C"
            """,
            isDistributed: isDistributed
        )
        return """
            \(sql: insertion)
            ON CONFLICT (scope_id, activity_id) DO UPDATE SET \(unescaped: ActivityMerge(shape: batch.shape).assignments)
            \(sql: batch.shape.isGuarded ? Self.permitted : "")
            RETURNING \(MergedActivity.columns)
            """
    }

    private static func given(_ fact: StoredFact) -> String {
        "r.\(fact.name), CASE WHEN r.\(fact.name) IS NOT NULL THEN r.given_at END"
    }

    private static let permitted: SQL =
        "WHERE \(sql: Ownership.permits("stored", subject: "excluded.subject", installation: "excluded.installation_hash"))"

    /// The request names erased data, which does not come back (the row of the app is called `app`).
    private var isErased: SQL {
        ErasureStatements.isErased(
            digests: ErasureStatements.registrationDigests,
            activity: "\(unescaped: ErasureStatements.digest("'activity:' || r.activity_id"))",
            observedAt: "r.claimed_at",
            in: scope
        )
    }

    /// Why some were refused whole; see ``Refusal``. The times are those of the merge because a refused request changed
    /// nothing.
    var refusalFacts: SQL {
        Refusal.facts(
            ofApp: scope.app.id,
            foreign: batch.foreign(in: scope),
            erased: """
                ARRAY(SELECT r.activity_id FROM apps app CROSS JOIN LATERAL (\(sql: batch.timed(in: scope))) AS r
                    WHERE app.app_id = \(scope.app.id) AND \(sql: isErased))
                """
        )
    }

    private var isErasedActivity: SQL {
        let activity: SQL = "\(unescaped: ErasureStatements.digest("'activity:' || q.activity_id"))"
        return ErasureStatements.isErased(
            digests: "ARRAY[\(sql: activity)]",
            activity: activity,
            observedAt: "'infinity'",
            in: scope
        )
    }

    /// One upsert a token value: the greatest (time, activity) owns it (R2, R7), and stays its owner.
    private var ownership: SQL {
        """
        INSERT INTO token_values AS stored (
            scope_id, token_digest, activity_id, activity_key, observed_at, is_newly_owned
        )
        SELECT a.scope_id, q.token_digest, a.activity_id, a.activity_key,
            coalesce(q.observed_at, a.token_observed_at), true
        FROM \(sql: batch.rows(["activity_id", "token_digest", "observed_at"])) CROSS JOIN LATERAL (
            SELECT m.scope_id, m.activity_id, m.activity_key, m.token_digest, m.token_observed_at
            FROM activities m
            WHERE \(sql: scope.contains("m"))
                AND m.activity_id = q.activity_id AND \(sql: batch.isMerged("m"))
            LIMIT 1
        ) AS a
        WHERE q.token_digest IS NOT NULL AND (q.observed_at IS NOT NULL OR a.token_digest = q.token_digest)
        ORDER BY 2
        ON CONFLICT (scope_id, token_digest) DO UPDATE SET
            activity_id = CASE WHEN \(unescaped: Self.claimsMore) THEN excluded.activity_id ELSE stored.activity_id END,
            activity_key = CASE WHEN \(unescaped: Self.claimsMore)
                THEN excluded.activity_key ELSE stored.activity_key END,
            observed_at = greatest(stored.observed_at, excluded.observed_at),
            is_newly_owned = stored.activity_id IS NULL,
            displaced_activity_id = CASE WHEN \(unescaped: Self.displaces) THEN stored.activity_id END,
            displaced_observed_at = CASE WHEN \(unescaped: Self.displaces) THEN stored.observed_at END
        RETURNING \(ClaimedToken.columns)
        """
    }

    private static let claimsMore = """
        (stored.activity_id IS NULL
        OR (excluded.observed_at, excluded.activity_id) > (stored.observed_at, stored.activity_id))
        """

    private static let displaces = "\(claimsMore) AND excluded.activity_id <> stored.activity_id"
}
