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
        if batch.accuses { statements += [accusation, revision, retirement, event] }
        if batch.delivers { statements.append(delivery) }
        return statements + [answer]
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

    private var lockValues: SQL {
        """
        SELECT FROM token_values t
        WHERE \(sql: inScope("t")) AND t.token_digest = ANY(ARRAY(\(sql: batch.digests)))
        ORDER BY t.token_digest FOR UPDATE
        """
    }

    // MARK: Effects

    /// When a report is true from: what APNs said, but never later than now.
    static let reportedAt = "least(coalesce(q.reported_at, now()), now())"

    /// A death is remembered for a value not known, too: a 410 may overtake a registration. A quarantine that is in
    /// force stays as it is.
    private var accusation: SQL {
        """
        INSERT INTO token_values AS stored (
            app_number, environment, token_digest, dead_at, quarantined_at, quarantined_kind, quarantine_reason, effect
        )
        SELECT \(app), \(environment)::apns_environment, q.token_digest,
            CASE WHEN q.verdict = 'dead' THEN s.accused_at END,
            CASE WHEN q.verdict = 'suspect' THEN s.accused_at END,
            CASE WHEN q.verdict = 'suspect' THEN held.kind END,
            CASE WHEN q.verdict = 'suspect' THEN q.reason END,
            CASE WHEN held.claimed_at > coalesce(t.dead_at, '-infinity') AND held.claimed_at <= s.accused_at THEN
                CASE WHEN q.verdict = 'dead' THEN 'dropped'
                    WHEN held.claimed_at > coalesce(t.quarantined_at, '-infinity') THEN 'quarantined' ELSE 'none' END
                ELSE 'none' END::token_effect
        FROM \(sql: batch.rows) \(sql: quarantine.held) LEFT JOIN \(sql: quarantine.value)
        LEFT JOIN quarantine_guards g ON \(sql: inScope("g")) AND g.kind = held.kind
        CROSS JOIN LATERAL (SELECT \(unescaped: Self.reportedAt) AS accused_at) AS s
        WHERE q.verdict = 'dead'
            OR (q.verdict = 'suspect' AND held.claimed_at <= s.accused_at
                AND NOT coalesce(\(unescaped: QuarantineStatements.isOn), false))
        ORDER BY q.token_digest
        ON CONFLICT (app_number, environment, token_digest) DO UPDATE SET
            dead_at = greatest(stored.dead_at, excluded.dead_at),
            \(unescaped: Self.quarantineColumns.map(Self.replacedUnlessInForce).joined(separator: ", ")),
            effect = excluded.effect,
            touched_at = clock_timestamp()
        """
    }

    private static let quarantineColumns = ["quarantined_at", "quarantined_kind", "quarantine_reason"]

    private static func replacedUnlessInForce(_ column: String) -> String {
        """
        \(column) = CASE WHEN excluded.quarantined_at IS NOT NULL \
        AND (stored.quarantined_at IS NULL OR excluded.effect = 'quarantined') \
        THEN excluded.\(column) ELSE stored.\(column) END
        """
    }

    /// The values that the reports took from senders; `t` is the value and `q` the report. A row that this transaction
    /// did not write tells of an earlier report.
    private var affected: SQL {
        """
        \(sql: batch.rows) JOIN \(sql: quarantine.value)
            AND t.effect <> 'none' AND t.writer = pg_current_xact_id()::xid AND q.verdict IN ('dead', 'suspect')
        """
    }

    private var revision: SQL {
        """
        UPDATE activities a SET revision = a.revision + 1
        FROM \(sql: affected)
        WHERE \(sql: inScope("a")) AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
            AND a.ended_at IS NULL AND a.expires_at > now()
        """
    }

    private var retirement: SQL {
        """
        INSERT INTO retired_tokens AS stored (app_number, environment, activity_id, token_digest, observed_at, reason)
        SELECT a.app_number, a.environment, a.activity_id, a.token_digest, a.token_observed_at, 'unregistered'
        FROM \(sql: affected)
        JOIN activities a ON \(sql: inScope("a")) AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
        WHERE t.effect = 'dropped'
        ORDER BY 3, 4
        ON CONFLICT (app_number, environment, activity_id, token_digest) DO UPDATE SET
            observed_at = greatest(stored.observed_at, excluded.observed_at), reason = excluded.reason
        """
    }

    private var event: SQL {
        EventStatements.insertion(
            """
            SELECT t.effect::text AS type, \(unescaped: EventStatements.columns(of: "h"))
            FROM \(sql: affected) \(sql: quarantine.holders)
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
        SELECT CASE WHEN held.kind IS NULL THEN
                CASE WHEN \(unescaped: Self.wasKnown("t")) THEN 'retired' ELSE 'unknown' END
            WHEN q.verdict = 'dead' THEN CASE WHEN held.claimed_at <= t.dead_at THEN 'dropped' ELSE 'kept-newer' END
            WHEN q.verdict = 'suspect' THEN CASE WHEN held.claimed_at <= t.quarantined_at THEN 'quarantined'
                WHEN \(unescaped: QuarantineStatements.isOn) THEN 'guarded' ELSE 'kept-newer' END
            WHEN q.verdict = 'delivered' THEN 'delivered' ELSE 'kept' END,
            held.kind, elsewhere.environment::text
        FROM \(sql: batch.rows) \(sql: quarantine.held) LEFT JOIN \(sql: quarantine.value)
        LEFT JOIN quarantine_guards g ON \(sql: inScope("g")) AND g.kind = held.kind
        LEFT JOIN LATERAL (
            SELECT v.environment FROM token_values v WHERE v.app_number = \(app)
                AND v.environment = \(scope.environment.other.rawValue)::apns_environment
                AND v.token_digest = q.token_digest AND \(unescaped: Self.wasKnown("v")) LIMIT 1
        ) AS elsewhere ON true
        ORDER BY q.position
        """
    }

    /// Somebody registered the value.
    private static func wasKnown(_ row: String) -> String {
        """
        (\(row).activity_id IS NOT NULL OR \(row).installation_hash IS NOT NULL OR \(row).start_observed_at IS NOT NULL)
        """
    }
}
