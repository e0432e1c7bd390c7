import Foundation
import PostgresDriver
import RegistryCore

/// The statements of a batch of reports (R8), sent in one round trip and committed as one transaction.
///
/// All that they touch is locked first, in the order that registrations lock in (activities by id, values by digest),
/// so each later statement sees what is true until the commit.
struct FeedbackStatements {
    let batch: FeedbackBatch
    let scope: Scope
    let who: String

    private var app: Int64 { scope.app.number }
    private var environment: String { scope.environment.rawValue }
    private var quarantine: QuarantineStatements { QuarantineStatements(scope: scope, who: who) }

    /// All of them, in order; the last one's result is the answer.
    var all: [SQL] {
        var statements: [SQL] = []
        if batch.suspects { statements.append(quarantine.lockGuards) }
        if batch.accuses { statements.append(lockActivities) }
        statements.append(lockValues)
        if batch.suspects { statements += [quarantine.guarding(batch)] + quarantine.releaseBurst }
        if batch.delivers { statements.append(delivery) }
        return statements + [outcome]
    }

    /// The kinds of token whose guard tripped, as the results of `all` tell.
    func trippedKinds(in results: [PostgresResult]) throws -> [String] {
        // The guard follows its own lock and those of activities and values; whatever suspects accuses, too.
        guard batch.suspects else { return [] }
        return try results[3].rows.compactMap { row in
            let (kind, hasTripped) = try row.decode(String.self, Bool?.self)
            return hasTripped == true ? kind : nil
        }
    }

    private func inScope(_ row: String) -> SQL {
        """
        \(unescaped: row).app_number = \(app) AND \(unescaped: row).environment = \(environment)::apns_environment
        """
    }

    // MARK: Locks

    private var lockActivities: SQL {
        """
        SELECT FROM activities a
        WHERE \(sql: inScope("a")) AND a.activity_id = ANY(ARRAY(
            SELECT t.activity_id FROM token_values t
            WHERE \(sql: inScope("t")) AND t.token_digest = ANY(ARRAY(\(sql: batch.digests)))
        ))
        ORDER BY a.activity_id FOR UPDATE
        """
    }

    /// A death is remembered for values not known, too, so that a 410 may overtake a registration. Their rows are made
    /// here: one that a registration makes at this same moment is then waited for and seen by the statements that follow.
    private var lockValues: SQL {
        guard batch.kills else { return knownValues }
        return """
            WITH known AS MATERIALIZED (\(sql: knownValues))
            INSERT INTO token_values AS stored (app_number, environment, token_digest)
            SELECT \(app), \(environment)::apns_environment, q.token_digest
            FROM \(sql: batch.rows)
            WHERE q.verdict = 'dead' AND q.token_digest NOT IN (SELECT known.token_digest FROM known)
            ORDER BY q.token_digest
            ON CONFLICT (app_number, environment, token_digest) DO UPDATE SET effect = 'none'
            """
    }

    private var knownValues: SQL {
        """
        SELECT t.token_digest FROM token_values t
        WHERE \(sql: inScope("t")) AND t.token_digest = ANY(ARRAY(\(sql: batch.digests)))
        ORDER BY t.token_digest FOR UPDATE
        """
    }

    // MARK: Effects

    /// When a report is true from: what APNs said, but never later than now.
    static let reportedAt = "least(coalesce(q.reported_at, now()), now())"

    /// What becomes of each report, from what is true under the locks: the kind and claim of what is current with the
    /// value, the value's row before the reports, where both rows stand, and what the report does to it.
    ///
    /// Nobody else can move a row that is locked, so the parts that write find it by its place, without its index. A value
    /// that changed its activity while the first locks were taken leads to a row that is not locked; if that one moves, what
    /// was not found at its place is looked up by the index. Who writes there is told by a list that was made before, for
    /// Postgres cannot run a writing part once more to look at a row again that somebody else has changed meanwhile.
    private var reports: SQL {
        """
        SELECT q.*, s.accused_at, held.kind, held.claimed_at, held.place AS activity_place, t.place AS value_place,
            t.dead_at, t.quarantined_at,
            coalesce(\(unescaped: Self.wasKnown("t")), false) AS was_known,
            coalesce(\(unescaped: QuarantineStatements.isOn), false) AS is_guarded,
            CASE WHEN held.claimed_at > coalesce(t.dead_at, '-infinity') AND held.claimed_at <= s.accused_at THEN
                CASE WHEN q.verdict = 'dead' THEN 'dropped'
                    WHEN held.claimed_at > coalesce(t.quarantined_at, '-infinity') THEN 'quarantined' ELSE 'none' END
                ELSE 'none' END::token_effect AS effect
        FROM \(sql: batch.rows) \(sql: quarantine.held) LEFT JOIN \(sql: quarantine.value)
        LEFT JOIN quarantine_guards g ON \(sql: inScope("g")) AND g.kind = held.kind
        CROSS JOIN LATERAL (SELECT \(unescaped: Self.reportedAt) AS accused_at) AS s
        """
    }

    /// All effects and the answer, in one statement, for each lookup of a value or an activity would otherwise be made
    /// anew by each part. The parts see the same moment, that of the locks, and tell each other what they wrote.
    private var outcome: SQL {
        """
        WITH reports AS MATERIALIZED (\(sql: reports))\(sql: batch.accuses ? effects : "")
        \(sql: answer)
        """
    }

    private var effects: SQL {
        """
        , accused_in_place AS (\(sql: accusation("reports r", "t.ctid = r.value_place"))),
        unaccused AS MATERIALIZED (
            SELECT * FROM reports r WHERE \(unescaped: Self.isAccused) AND r.value_place IS NOT NULL
                AND r.token_digest NOT IN (SELECT t.token_digest FROM accused_in_place t)
        ),
        accused_elsewhere AS (\(sql: accusation("unaccused r", "true"))),
        accused AS (SELECT * FROM accused_in_place UNION ALL SELECT * FROM accused_elsewhere),
        revised_in_place AS (\(sql: revision("accused t", "a.ctid = t.activity_place"))),
        unrevised AS MATERIALIZED (
            SELECT * FROM accused t WHERE t.activity_place IS NOT NULL
                AND t.token_digest NOT IN (SELECT a.token_digest FROM revised_in_place a)
        ),
        revised_elsewhere AS (\(sql: revision("unrevised t", "true"))),
        revised AS (SELECT * FROM revised_in_place UNION ALL SELECT * FROM revised_elsewhere),
        retired AS (\(sql: retirement)), recorded AS (\(sql: event))
        """
    }

    /// The report takes the value from senders for good, or, unless the guard is on, until a client confirms it.
    private static let isAccused = """
        (r.verdict = 'dead' OR (r.verdict = 'suspect' AND r.claimed_at <= r.accused_at AND NOT r.is_guarded))
        """

    /// A quarantine that is in force stays as it is.
    ///
    /// - Parameters:
    ///   - reports: the reports, called `r`.
    ///   - isTarget: which rows `t` are meant, beside that their values are those of the reports.
    private func accusation(_ reports: String, _ isTarget: String) -> SQL {
        let isNew = "r.verdict = 'suspect' AND (t.quarantined_at IS NULL OR r.effect = 'quarantined')"
        let quarantine = [
            ("quarantined_at", "r.accused_at"), ("quarantined_kind", "r.kind"), ("quarantine_reason", "r.reason"),
        ].map { "\($0) = CASE WHEN \(isNew) THEN \($1) ELSE t.\($0) END" }
        return """
            UPDATE token_values t SET
                dead_at = CASE WHEN r.verdict = 'dead' THEN greatest(t.dead_at, r.accused_at) ELSE t.dead_at END,
                \(unescaped: quarantine.joined(separator: ", ")),
                effect = r.effect,
                touched_at = CASE WHEN t.activity_id IS NULL THEN clock_timestamp() ELSE t.touched_at END
            FROM \(unescaped: reports)
            WHERE \(unescaped: Self.isAccused) AND \(unescaped: isTarget)
                AND \(sql: inScope("t")) AND t.token_digest = r.token_digest
            RETURNING t.token_digest, t.activity_id, t.installation_hash, t.start_observed_at, t.effect, r.activity_place
            """
    }

    /// The activities whose token was accused, and those among them whose token senders lose by that.
    ///
    /// - Parameters:
    ///   - accused: the values, called `t`.
    ///   - isTarget: which rows `a` are meant, beside that they have the accused token.
    private func revision(_ accused: String, _ isTarget: String) -> SQL {
        """
        UPDATE activities a SET token_is_doubted = true,
            revision = a.revision + CASE WHEN t.effect <> 'none' THEN 1 ELSE 0 END
        FROM \(unescaped: accused)
        WHERE \(unescaped: isTarget) AND t.installation_hash IS NULL
            AND \(sql: inScope("a")) AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
            AND a.ended_at IS NULL AND a.expires_at > now()
        RETURNING t.effect, a.token_observed_at, \(unescaped: EventStatements.columns(of: "a"))
        """
    }

    private var retirement: SQL {
        """
        INSERT INTO retired_tokens AS stored (app_number, environment, activity_id, token_digest, observed_at, reason)
        SELECT \(app), \(environment)::apns_environment, a.activity_id, a.token_digest, a.token_observed_at, 'unregistered'
        FROM revised a WHERE a.effect = 'dropped'
        ORDER BY 3, 4
        ON CONFLICT (app_number, environment, activity_id, token_digest) DO UPDATE SET
            observed_at = greatest(stored.observed_at, excluded.observed_at), reason = excluded.reason
        """
    }

    /// One for each activity, and for each installation, that lost the value. What only an activity ever claimed, which
    /// is nearly all, no installation can hold.
    private var event: SQL {
        EventStatements.insertion(
            """
            SELECT a.effect::text AS type, \(unescaped: EventStatements.columns(of: "a")) FROM revised a
            WHERE a.effect <> 'none'
            UNION ALL
            SELECT t.effect::text, \(unescaped: EventStatements.columns(of: "h"))
            FROM accused t \(sql: quarantine.holders)
            WHERE t.effect <> 'none' AND h.kind <> 'update' AND (t.activity_id IS NULL
                OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL)
            """,
            by: who,
            in: scope
        )
    }

    private var delivery: SQL {
        """
        INSERT INTO token_values AS stored (app_number, environment, token_digest, delivered_at)
        SELECT t.app_number, t.environment, t.token_digest, now()
        FROM \(sql: batch.rows) JOIN \(sql: quarantine.value)
        WHERE q.verdict = 'delivered'
        ORDER BY t.token_digest
        ON CONFLICT (app_number, environment, token_digest) DO UPDATE SET delivered_at = excluded.delivered_at
        """
    }

    // MARK: Answer

    /// What became of each report, in the order given: the action, the kind of what is current with the value, and
    /// where else the value is known.
    private var answer: SQL {
        """
        SELECT CASE WHEN r.kind IS NULL THEN CASE WHEN r.was_known THEN 'retired' ELSE 'unknown' END
            WHEN r.verdict = 'dead' THEN
                CASE WHEN r.claimed_at <= greatest(r.dead_at, r.accused_at) THEN 'dropped' ELSE 'kept-newer' END
            WHEN r.verdict = 'suspect' THEN
                CASE WHEN r.claimed_at <= r.quarantined_at
                    OR (\(unescaped: Self.isAccused) AND (r.quarantined_at IS NULL OR r.effect = 'quarantined'))
                    THEN 'quarantined'
                WHEN r.is_guarded THEN 'guarded' ELSE 'kept-newer' END
            WHEN r.verdict = 'delivered' THEN 'delivered' ELSE 'kept' END,
            r.kind, elsewhere.environment::text
        FROM reports r
        LEFT JOIN LATERAL (
            SELECT v.environment FROM token_values v
            WHERE (r.kind IS NULL OR r.verdict = 'suspect') AND v.app_number = \(app)
                AND v.environment = \(scope.environment.other.rawValue)::apns_environment
                AND v.token_digest = r.token_digest AND \(unescaped: Self.wasKnown("v")) LIMIT 1
        ) AS elsewhere ON true
        ORDER BY r.position
        """
    }

    /// Somebody registered the value.
    private static func wasKnown(_ row: String) -> String {
        """
        (\(row).activity_id IS NOT NULL OR \(row).installation_hash IS NOT NULL OR \(row).start_observed_at IS NOT NULL)
        """
    }
}
