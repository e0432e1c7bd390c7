import PostgresDriver
import RegistryCore

/// The statements for the consequences of a batch's merge: doubted tokens, rows of aliases, claims that their values'
/// rows do not keep, and the audit trail.
///
/// They begin with the merged rows, and read others only for exceptional cases.
struct RegistrationConsequences {
    let batch: RegistrationBatch
    let scope: Scope

    /// One statement, which reads the merged rows once. No two of its parts write the same row.
    var together: SQL {
        let aliases: SQL =
            batch.shape.hasAliases
            ? """
            , removed AS (
            \(sql: AliasRowStatements.removal(of: "merged", in: scope))
            ), added AS (
            \(sql: AliasRowStatements.insertion(of: "merged"))
            )
            """ : ""
        return """
            WITH merged AS MATERIALIZED (
            \(sql: merged)
            ), reconciled AS (
            \(sql: reconciliation(of: "merged"))
            )\(sql: aliases), claimed AS (
            \(sql: formerClaims(of: "merged", isDistributed: false))
            )
            \(sql: event(of: "merged", isDistributed: false))
            """
    }

    /// Separate statements, each of which reads the merged rows itself.
    var apart: [SQL] {
        let (rows, activities): (SQL, SQL) = ("(\(sql: merged))", mergedActivities)
        let aliases =
            batch.shape.hasAliases
            ? [AliasRowStatements.removal(of: activities, in: scope), AliasRowStatements.insertion(of: activities)] : []
        return [reconciliation(of: rows)] + aliases + [
            formerClaims(of: rows, isDistributed: true), event(of: rows, isDistributed: true),
        ]
    }

    /// If a request scheduled a later start: adds expired activities that run again to the rows that resolve reads.
    /// Runs before the others, which change the rows of running activities.
    var reopening: SQL { AliasRowStatements.reopening(of: mergedActivities, in: scope) }

    // MARK: The merged rows

    /// The merged activities, each with its request's claim, the facts about that value, and the request's effect. Each
    /// row is a lookup by key, whatever the planner's estimates: for a never analyzed table it expects few rows, and
    /// would compare all of them with all requests.
    private var merged: SQL {
        """
        SELECT a.*, t.*, q.who, q.observed_at AS said_at, q.token_digest AS claimed_digest,
            CASE WHEN \(sql: isBack("a", "t")) THEN 'reactivated' ELSE a.outcome END AS effect
        FROM \(sql: batch.rows(["activity_id", "token_digest", "observed_at", "who"]))
        CROSS JOIN LATERAL (
            SELECT \(unescaped: Self.activityColumns) FROM activities m
            WHERE \(sql: scope.contains("m"))
                AND m.activity_id = q.activity_id AND \(sql: batch.isMerged("m"))
            LIMIT 1
        ) AS a
        LEFT JOIN LATERAL (
            SELECT \(unescaped: Self.valueColumns) FROM token_values v
            WHERE \(sql: scope.contains("v"))
                AND v.token_digest = q.token_digest
            LIMIT 1
        ) AS t ON true
        """
    }

    private var mergedActivities: SQL {
        """
        (SELECT \(unescaped: Self.activityColumns) FROM activities m
        WHERE \(sql: scope.contains("m"))
            AND m.activity_id = ANY(\(sql: batch.activityIDs)) AND \(sql: batch.isMerged("m")))
        """
    }

    /// The columns of activity `m` that later statements read. Not all of them, because Postgres prepares each in every
    /// part of a statement.
    private static let activityColumns = """
        m.scope_id, m.activity_id, m.activity_key, m.installation_hash, m.subject, m.aliases, m.aliases_changed,
        m.displaced_aliases, m.facts_changed, m.token_digest, m.token_observed_at, m.token_claimed_at, m.previous_claimed_at,
        m.ended_at, m.expiry_recorded_at, m.outcome, m.batch_number
        """

    /// The columns of value `v`, under names that no column of an activity has.
    private static let valueColumns = """
        v.activity_id AS owner, v.displaced_activity_id, v.displaced_observed_at, v.is_newly_owned, v.dead_at,
        greatest(v.dead_at, v.quarantined_at) AS barred_at, v.installation_hash IS NOT NULL AS is_of_installation
        """

    // MARK: What is known against tokens

    /// Updates the activities of the values from the values' rows. R8: an activity that claimed a token after its death
    /// or quarantine has it back. One that lost a token, or got an accused one, is handed out only after a look at the
    /// value; most values have no accusations, and their activities are not read.
    private func reconciliation(of rows: SQL) -> SQL {
        """
        UPDATE activities a SET (token_is_doubted, outcome, revision) = (
            SELECT a.token_is_doubted OR \(unescaped: Self.isDoubtful("a", "t")),
                CASE WHEN \(sql: isBack("a", "t")) THEN 'reactivated' ELSE a.outcome END,
                a.revision + CASE WHEN \(sql: isBack("a", "t")) THEN 1 ELSE 0 END
            FROM (SELECT) AS one LEFT JOIN (
                SELECT v.token_digest, \(unescaped: Self.valueColumns) FROM token_values v WHERE \(sql: scope.contains("v"))
            ) AS t ON t.token_digest = a.token_digest
        )
        WHERE \(sql: scope.contains("a"))
            AND a.activity_id = ANY(ARRAY(\(sql: unsettled(of: rows))))
        """
    }

    /// The activities whose row differs from their value's row, one lookup each.
    private func unsettled(of rows: SQL) -> SQL {
        """
        SELECT a.activity_id FROM \(sql: rows) AS s
        CROSS JOIN unnest(ARRAY[s.activity_id, s.displaced_activity_id]) AS named (activity_id)
        CROSS JOIN LATERAL (
            SELECT n.activity_id, n.ended_at, n.token_claimed_at, n.previous_claimed_at, n.token_is_doubted, n.outcome, n.batch_number
            FROM activities n
            WHERE \(sql: scope.contains("n"))
                AND n.activity_id = named.activity_id AND n.token_digest = s.claimed_digest
            LIMIT 1
        ) AS a
        WHERE (s.owner <> s.activity_id OR s.displaced_activity_id IS NOT NULL OR s.is_of_installation
            OR s.barred_at IS NOT NULL)
            AND (\(sql: isBack("a", "s"))
                OR (NOT a.token_is_doubted AND a.ended_at IS NULL AND \(unescaped: Self.isDoubtful("a", "s"))))
        """
    }

    /// The request claimed the activity's token after every accusation, and no earlier request had.
    private func isBack(_ activity: String, _ value: String) -> SQL {
        """
        (\(sql: batch.isMerged(activity)) AND \(unescaped: activity).outcome IN ('refreshed', 'reactivated')
        AND \(unescaped: value).owner = \(unescaped: activity).activity_id
        AND coalesce(\(unescaped: activity).previous_claimed_at <= \(unescaped: value).barred_at
        AND \(unescaped: activity).token_claimed_at > \(unescaped: value).barred_at, false))
        """
    }

    /// An activity's value belongs to another or to another kind, or is dead or quarantined.
    private static func isDoubtful(_ activity: String, _ value: String) -> String {
        """
        (\(value).owner IS DISTINCT FROM \(activity).activity_id OR \(value).is_of_installation
        OR coalesce(\(activity).token_claimed_at <= \(value).barred_at, false))
        """
    }

    // MARK: Claims

    /// The claims that their values' rows do not keep: of owners displaced by the batch, and its own if another has the
    /// value.
    private func formerClaims(of rows: SQL, isDistributed: Bool) -> SQL {
        let insertion = SQL.insertion(
            into: "former_claims",
            as: "stored",
            "scope_id, activity_id, token_digest, observed_at",
            """
            SELECT lost.* FROM \(sql: rows) AS s
            CROSS JOIN LATERAL (
                SELECT s.scope_id, s.activity_id, s.claimed_digest, coalesce(s.said_at, s.token_observed_at)
                WHERE s.owner <> s.activity_id
                UNION ALL
                SELECT s.scope_id, s.displaced_activity_id, s.claimed_digest, s.displaced_observed_at
                WHERE s.displaced_activity_id IS NOT NULL
            ) AS lost
            WHERE (s.owner <> s.activity_id OR s.displaced_activity_id IS NOT NULL)
                AND (s.said_at IS NOT NULL OR s.token_digest = s.claimed_digest)
            ORDER BY 2, 3
            """,
            isDistributed: isDistributed
        )
        return """
            \(sql: insertion)
            ON CONFLICT (scope_id, activity_id, token_digest) DO UPDATE SET
                observed_at = greatest(stored.observed_at, excluded.observed_at)
            """
    }

    // MARK: The audit trail

    /// R11, R7 for the activity that lost its token to another, and R8 for a token that was dead when it came.
    private func event(of rows: SQL, isDistributed: Bool) -> SQL {
        EventStatements.insertion(
            """
            SELECT e.*, s.who FROM \(sql: rows) AS s CROSS JOIN LATERAL (
                SELECT s.effect::text AS type, \(unescaped: EventStatements.columns(of: "s"))
                WHERE s.effect IN ('registered', 'rotated', 'reactivated')
                UNION ALL
                SELECT 'taken-over', \(unescaped: EventStatements.columns(of: "loser"))
                FROM \(sql: formerHolders)
                WHERE loser.activity_id = s.displaced_activity_id
                    OR loser.outcome IN ('registered', 'rotated', 'reactivated')
                UNION ALL
                SELECT 'dropped', \(unescaped: EventStatements.columns(of: "s"))
                WHERE s.effect IN ('registered', 'rotated') AND s.owner = s.activity_id
                    AND s.token_claimed_at <= s.dead_at
                UNION ALL
                -- It has its value back, which another had or nobody.
                SELECT 'reactivated', \(unescaped: EventStatements.columns(of: "s"))
                WHERE s.effect = 'refreshed' AND s.owner = s.activity_id AND s.token_digest = s.claimed_digest
                    AND (s.displaced_activity_id IS NOT NULL OR s.is_newly_owned)
                UNION ALL
                SELECT CASE WHEN s.aliases_changed THEN 'aliases-changed' ELSE 'changed' END,
                    \(unescaped: EventStatements.columns(ofChanged: "s"))
                WHERE s.effect IN ('refreshed', 'observed', 'superseded') AND (s.aliases_changed OR s.facts_changed)
                    OR s.effect IN ('registered', 'rotated', 'reactivated') AND s.displaced_aliases IS NOT NULL
            ) AS e
            """,
            in: scope,
            isDistributed: isDistributed
        )
    }

    /// Activities whose token belongs to another one since request `s`, or did before it. A request without
    /// `observedAt` and with a retired token claimed nothing, so it displaced no activity.
    private var formerHolders: SQL {
        """
        (SELECT * FROM activities other
        WHERE (s.displaced_activity_id IS NOT NULL OR s.owner <> s.activity_id)
            AND (s.said_at IS NOT NULL OR s.token_digest = s.claimed_digest)
            AND \(sql: scope.contains("other"))
            AND other.activity_id = ANY(ARRAY[s.displaced_activity_id, s.activity_id])
            AND other.activity_id <> s.owner AND other.token_digest = s.claimed_digest AND other.ended_at IS NULL
        ) AS loser
        """
    }
}
