import Foundation
import PostgresDriver
import RegistryCore

/// The statements of a batch of registrations, sent in one round trip and committed as one transaction.
///
/// They are statements of their own and not one with many CTEs: each then sees what was committed while the first one
/// waited for its row locks. Rows are locked in one order everywhere (installation, activities by id, tokens by
/// digest, former claims by key), so batches do not deadlock.
struct RegistrationStatements {
    let batch: RegistrationBatch
    let scope: Scope

    private var app: Int64 { scope.app.number }
    private var environment: String { scope.environment.rawValue }

    /// All of them, in order. The results at ``mergeIndex`` and ``ownershipIndex`` are needed for the answer.
    var all: [SQL] {
        let (ids, isMerged) = (batch.activityIDs, batch.isMerged("a"))
        var statements = batch.shape.needsReceiptOrder ? [creation, lock] : [lock]
        statements += [merge, ownership, reconciliation]
        if batch.shape.hasAliases {
            statements += [
                AliasRowStatements.removal(ids, where: isMerged, in: scope),
                AliasRowStatements.insertion(ids, where: isMerged, in: scope),
            ]
        }
        if batch.shape.hasStarts {
            statements += [
                AliasRowStatements.reopening(ids, where: isMerged, in: scope)
            ]
        }
        return statements + [formerClaims, event]
    }

    var mergeIndex: Int { batch.shape.needsReceiptOrder ? 2 : 1 }
    var ownershipIndex: Int { mergeIndex + 1 }

    // MARK: Locks

    /// Makes the rows that are still missing, so that there is something to lock.
    private var creation: SQL {
        let insertion = SQL.insertion(
            into: "activities",
            "app_number, environment, activity_id, started_at, lifetime, expires_at, outcome, created_at",
            """
            SELECT app.app_number, \(environment)::apns_environment, q.activity_id, now(), app.activity_lifetime,
                now() + app.activity_lifetime, 'observed'::activity_outcome, now()
            FROM apps app CROSS JOIN \(sql: batch.claims)
            WHERE app.app_number = \(app) AND q.observed_at IS NULL AND NOT \(sql: isErasedActivity)
            ORDER BY q.activity_id
            """
        )
        return "\(sql: insertion)\nON CONFLICT (app_number, environment, activity_id) DO NOTHING"
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

    /// The ids to lock where an activity has a token that another one of the batch claims: both, and all of the batch;
    /// null where there is none.
    private static func takeover(of batch: RegistrationBatch, in scope: Scope) -> SQL {
        """
        (SELECT \(sql: batch.activityIDs)::text[] || array_agg(t.activity_id)
        FROM \(sql: batch.claims) CROSS JOIN LATERAL (
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
            app_number, environment, activity_id, token, token_digest, token_observed_at, token_claimed_at,
            last_observed_at, started_at, starts_at, starts_at_observed_at, lifetime, expires_at, confirmed_at,
            installation_hash, installation_observed_at, subject, subject_observed_at,
            \(StoredFact.all.map { "\($0.name), \($0.time)" }.joined(separator: ", ")),
            aliases, aliases_observed_at, aliases_changed, metadata, metadata_observed_at, outcome, created_at, touched_at,
            batch_number, installation_full_state_at, installation_removed_at
            """,
            """
            SELECT app.app_number, \(environment)::apns_environment, r.activity_id, r.token, r.token_digest,
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
            WHERE app.app_number = \(app) AND (r.observed_at IS NULL OR r.observed_at <= now() + interval '5 minutes')
                AND NOT \(sql: isErased)
            ORDER BY r.activity_id
            """
        )
        return """
            \(sql: insertion)
            ON CONFLICT (app_number, environment, activity_id) DO UPDATE SET \(unescaped: ActivityMerge.assignments)
            \(sql: batch.shape.isGuarded ? Self.permitted : "")
            RETURNING \(MergedActivity.columns)
            """
    }

    private static func given(_ fact: StoredFact) -> String {
        "r.\(fact.name), CASE WHEN r.\(fact.name) IS NOT NULL THEN r.given_at END"
    }

    /// Another's record is not touched and not returned.
    private static let permitted: SQL =
        "WHERE \(sql: Ownership.permits("stored", subject: "excluded.subject", installation: "excluded.installation_hash"))"

    /// The request names something that was erased, which does not come back (the row of the app is called `app`).
    private var isErased: SQL {
        ErasureStatements.isErased(
            digests: ErasureStatements.registrationDigests,
            activity: "\(unescaped: ErasureStatements.digest("'activity:' || r.activity_id"))",
            observedAt: "r.claimed_at",
            in: scope
        )
    }

    /// Why some were refused whole; see ``Refusal``. The times are those of the merge, for a refused request changed nothing.
    var refusalFacts: SQL {
        Refusal.facts(
            ofApp: app,
            foreign: batch.foreign(in: scope),
            erased: """
                ARRAY(SELECT r.activity_id FROM apps app CROSS JOIN LATERAL (\(sql: batch.timed(in: scope))) AS r
                    WHERE app.app_number = \(app) AND \(sql: isErased))
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
            app_number, environment, token_digest, activity_id, activity_number, observed_at, is_newly_owned
        )
        SELECT a.app_number, a.environment, q.token_digest, a.activity_id, a.activity_number,
            coalesce(q.observed_at, a.token_observed_at), true
        FROM \(sql: batch.claims) CROSS JOIN LATERAL (
            SELECT m.* FROM activities m
            WHERE \(sql: scope.contains("m"))
                AND m.activity_id = q.activity_id AND \(sql: batch.isMerged("m"))
            LIMIT 1
        ) AS a
        WHERE q.token_digest IS NOT NULL AND (q.observed_at IS NOT NULL OR a.token_digest = q.token_digest)
        ORDER BY 3
        ON CONFLICT (app_number, environment, token_digest) DO UPDATE SET
            activity_id = CASE WHEN \(unescaped: Self.claimsMore) THEN excluded.activity_id ELSE stored.activity_id END,
            activity_number = CASE WHEN \(unescaped: Self.claimsMore)
                THEN excluded.activity_number ELSE stored.activity_number END,
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

    // MARK: What follows from the merged rows

    /// The claims that their values' rows do not keep: of owners whom the batch displaced, and its own where another has the value.
    private var formerClaims: SQL {
        let claims: SQL = """
            SELECT lost.* FROM \(sql: batch.claims)
            CROSS JOIN LATERAL (
                SELECT v.* FROM token_values v
                WHERE \(sql: scope.contains("v")) AND v.token_digest = q.token_digest
                    AND (v.activity_id <> q.activity_id OR v.displaced_activity_id IS NOT NULL)
                LIMIT 1
            ) AS t
            CROSS JOIN LATERAL (
                SELECT m.* FROM activities m
                WHERE \(sql: scope.contains("m"))
                    AND m.activity_id = q.activity_id AND \(sql: batch.isMerged("m"))
                LIMIT 1
            ) AS a
            CROSS JOIN LATERAL (
                SELECT a.app_number, a.environment, a.activity_id, t.token_digest,
                    coalesce(q.observed_at, a.token_observed_at)
                WHERE t.activity_id <> q.activity_id
                UNION ALL
                SELECT t.app_number, t.environment, t.displaced_activity_id, t.token_digest, t.displaced_observed_at
                WHERE t.displaced_activity_id IS NOT NULL
            ) AS lost
            WHERE q.observed_at IS NOT NULL OR a.token_digest = t.token_digest
            """
        let insertion = SQL.insertion(
            into: "former_claims",
            as: "stored",
            "app_number, environment, activity_id, token_digest, observed_at",
            "\(sql: claims) ORDER BY 3, 4"
        )
        return """
            \(sql: insertion)
            ON CONFLICT (app_number, environment, activity_id, token_digest) DO UPDATE SET
                observed_at = greatest(stored.observed_at, excluded.observed_at)
            """
    }

    /// Activities whose token `t` belongs to another one since request `q`, or did before it. A request without
    /// `observedAt` whose token is retired claimed nothing, so it displaced nobody.
    private var formerHolders: SQL {
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

    /// Updates the activities that have the values now by what the values' rows say. R8: an activity that claimed a
    /// token later than APNs said it dead, or than it was quarantined, has it back. One that lost a token, or got one
    /// against which something is known, is not handed out without a look at the value; most values have nothing
    /// against them, and their activities are not read.
    private var reconciliation: SQL {
        """
        UPDATE activities a SET (token_is_doubted, outcome, revision) = (
            SELECT a.token_is_doubted OR \(unescaped: Self.isDoubtful),
                CASE WHEN \(sql: isBack) THEN 'reactivated' ELSE a.outcome END,
                a.revision + CASE WHEN \(sql: isBack) THEN 1 ELSE 0 END
            FROM (SELECT) AS one LEFT JOIN token_values t ON \(sql: scope.contains("t")) AND t.token_digest = a.token_digest
        )
        WHERE \(sql: scope.contains("a"))
            AND a.activity_id = ANY(ARRAY(\(sql: unsettled)))
        """
    }

    /// The activities whose row does not yet say what their value's row says, each looked up by its key.
    private var unsettled: SQL {
        """
        SELECT a.activity_id FROM \(sql: batch.claims)
        CROSS JOIN LATERAL (
            SELECT v.* FROM token_values v
            WHERE \(sql: scope.contains("v"))
                AND v.token_digest = q.token_digest AND (v.activity_id <> q.activity_id OR v.displaced_activity_id IS NOT NULL
                    OR v.installation_hash IS NOT NULL OR v.dead_at IS NOT NULL OR v.quarantined_at IS NOT NULL)
            LIMIT 1
        ) AS t
        CROSS JOIN unnest(ARRAY[q.activity_id, t.displaced_activity_id]) AS named (activity_id)
        CROSS JOIN LATERAL (
            SELECT n.* FROM activities n
            WHERE \(sql: scope.contains("n"))
                AND n.activity_id = named.activity_id AND n.token_digest = t.token_digest
            LIMIT 1
        ) AS a
        WHERE \(sql: isBack)
            OR (NOT a.token_is_doubted AND a.ended_at IS NULL AND \(unescaped: Self.isDoubtful))
        """
    }

    private var isBack: SQL {
        """
        (\(sql: batch.isMerged("a")) AND a.outcome IN ('refreshed', 'reactivated') AND t.activity_id = a.activity_id
        AND coalesce(a.previous_claimed_at <= greatest(t.dead_at, t.quarantined_at)
        AND a.token_claimed_at > greatest(t.dead_at, t.quarantined_at), false))
        """
    }

    /// Value `t`, which activity `a` has, is another's or of another kind, or said to be dead or quarantined.
    private static let isDoubtful = """
        (t.activity_id IS DISTINCT FROM a.activity_id OR t.installation_hash IS NOT NULL
        OR coalesce(a.token_claimed_at <= greatest(t.dead_at, t.quarantined_at), false))
        """

    /// R11, R7 for the activity that lost its token to another, and R8 for a token that was dead when it came.
    private var event: SQL {
        EventStatements.insertion(
            """
            SELECT e.*, q.who FROM \(sql: batch.merged(in: scope)) CROSS JOIN LATERAL (
                SELECT a.outcome::text AS type, \(unescaped: EventStatements.columns(of: "a"))
                WHERE a.outcome IN ('registered', 'rotated', 'reactivated')
                UNION ALL
                SELECT 'taken-over', \(unescaped: EventStatements.columns(of: "loser"))
                FROM \(sql: formerHolders)
                WHERE loser.activity_id = t.displaced_activity_id
                    OR loser.outcome IN ('registered', 'rotated', 'reactivated')
                UNION ALL
                SELECT 'dropped', \(unescaped: EventStatements.columns(of: "a"))
                WHERE a.outcome IN ('registered', 'rotated') AND t.activity_id = a.activity_id
                    AND a.token_claimed_at <= t.dead_at
                UNION ALL
                -- It has its value back, which another had or nobody.
                SELECT 'reactivated', \(unescaped: EventStatements.columns(of: "a"))
                WHERE a.outcome = 'refreshed' AND t.activity_id = a.activity_id AND a.token_digest = t.token_digest
                    AND (t.displaced_activity_id IS NOT NULL OR t.is_newly_owned)
                UNION ALL
                SELECT CASE WHEN a.aliases_changed THEN 'aliases-changed' ELSE 'changed' END,
                    \(unescaped: EventStatements.columns(ofChanged: "a"))
                WHERE a.outcome IN ('refreshed', 'observed', 'superseded') AND (a.aliases_changed OR a.facts_changed)
                    OR a.outcome IN ('registered', 'rotated', 'reactivated') AND a.displaced_aliases IS NOT NULL
            ) AS e
            """,
            in: scope
        )
    }
}
