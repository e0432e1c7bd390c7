import Foundation
import PostgresDriver
import RegistryCore

/// The statements of a batch of reports (R8), committed as one transaction: first the locks, then the effects.
///
/// All rows are locked first, in the order of registrations (activities by id, values by digest), so each later
/// statement sees the state until the commit, and finds the rows at their places. Values that a tripped burst guard
/// releases are locked in addition.
struct FeedbackStatements {
    let batch: FeedbackBatch
    let scope: Scope
    let who: UTF8Text

    var quarantine: QuarantineStatements { QuarantineStatements(scope: scope, who: who) }

    // MARK: Locks

    /// A process that is stopped between two round trips keeps others from these rows for less long than they wait for a
    /// lock (3 s).
    static let shortIdleness: SQL = "SELECT set_config('idle_in_transaction_session_timeout', '2s', true)"

    /// The activities that the values belong to: their ids and places.
    var lockActivities: SQL {
        lock(
            """
            ARRAY(
                SELECT t.activity_id FROM token_values t
                WHERE \(sql: scope.contains("t")) AND t.token_digest = ANY(\(batch.digests))
            )
            """
        )
    }

    func lock(_ activityIDs: [ActivityID]) -> SQL { lock("\(activityIDs)") }

    private func lock(_ activityIDs: SQL) -> SQL {
        """
        SELECT a.activity_id, a.ctid::text FROM activities a
        WHERE \(sql: scope.contains("a")) AND a.activity_id = ANY(\(sql: activityIDs))
        ORDER BY a.activity_id FOR UPDATE
        """
    }

    /// The values: their digests, activities and places.
    ///
    /// Unknown values get a row here, so that a 410 may overtake a registration: a registration at the same moment then
    /// waits for the lock, and the following statements see it.
    var lockValues: SQL {
        guard batch.kills else { return knownValues }
        return """
            WITH known AS MATERIALIZED (\(sql: knownValues)), made AS (
                INSERT INTO token_values AS stored (scope_id, token_digest)
                SELECT \(scope.id), q.token_digest
                FROM \(sql: batch.deaths)
                WHERE q.token_digest NOT IN (SELECT known.token_digest FROM known)
                ORDER BY q.token_digest
                ON CONFLICT (scope_id, token_digest) DO UPDATE SET touched_at = stored.touched_at
                RETURNING stored.token_digest, stored.activity_id, stored.ctid::text
            )
            SELECT * FROM known UNION ALL SELECT * FROM made
            """
    }

    private var knownValues: SQL {
        """
        SELECT t.token_digest, t.activity_id, t.ctid::text FROM token_values t
        WHERE \(sql: scope.contains("t")) AND t.token_digest = ANY(\(batch.digests))
        ORDER BY t.token_digest FOR UPDATE
        """
    }

    // MARK: Effects

    /// APNs's time, but never later than now.
    static let reportedAt = "least(coalesce(q.reported_at, now()), now())"

    /// Each report `q`, the row `t` of its value, and the value's holder `held`: its kind and latest claim, null
    /// without one. Looked up one by one, because a plan from a time with small tables would join them whole.
    ///
    /// Activities are locked only if some report accuses; otherwise their index finds them. A value claimed only by an
    /// activity, as nearly all are, has no other holder. A value without a row to lock has no holder: a later
    /// registration came after these reports.
    private func held(at places: FeedbackPlaces) -> SQL {
        """
        \(sql: batch.rows(at: places))
        LEFT JOIN LATERAL \(sql: value(of: "q")) AS t ON true
        CROSS JOIN LATERAL (
            SELECT max(h.kind) AS kind, max(h.claimed_at) AS claimed_at FROM (
                SELECT 'update' COLLATE "C" AS kind, a.token_claimed_at AS claimed_at FROM activities a
                WHERE \(sql: batch.accuses ? "a.ctid = q.activity_place AND " : "")\(sql: holds)
                UNION ALL
                (SELECT other.kind, other.claimed_at FROM \(sql: scope.view(.tokenHolders)) other
                WHERE t.token_digest IS NOT NULL AND \(unescaped: Self.mayBeOfInstallation) AND other.kind <> 'update'
                    AND \(sql: scope.contains("other")) AND other.token_digest = q.token_digest
                LIMIT \(QuarantineStatements.mostHolders))
            ) AS h
        ) AS held
        """
    }

    /// Activity `a` runs, and value `t` is its token.
    private var holds: SQL {
        """
        \(sql: scope.contains("a")) AND a.activity_id = t.activity_id AND a.token_digest = t.token_digest
        AND t.installation_hash IS NULL AND a.ended_at IS NULL AND a.expires_at > now()
        """
    }

    /// Something other than an activity may have claimed value `t`.
    private static let mayBeOfInstallation = """
        (t.activity_id IS NULL OR t.installation_hash IS NOT NULL OR t.start_observed_at IS NOT NULL)
        """

    /// Trips the burst guards that the batch exceeds; the result has the kinds, and whether they tripped.
    func guarding(at places: FeedbackPlaces) -> SQL { quarantine.guarding(held(at: places)) }

    /// The events, if any may come, and then all other effects, which answer as ``answer``.
    func effects(at places: FeedbackPlaces) -> [SQL] {
        let reports = reports(at: places)
        return (batch.accuses ? [event(of: reports)] : []) + [outcome(of: reports)]
    }

    /// All effects except the audit trail's, and the answer, in one statement, because separate statements would repeat
    /// each lookup of a value or an activity. The parts see one moment, that of the locks, and pass their written rows
    /// on to each other.
    private func outcome(of reports: SQL) -> SQL {
        """
        WITH reports AS MATERIALIZED (\(sql: reports))\(sql: batch.accuses ? accusations : "")\
        \(sql: batch.delivers ? delivery : "")
        \(sql: answer)
        """
    }

    /// Each report with the facts under the locks: the holder of its value, the value's row before the reports, and the
    /// report's effect.
    private func reports(at places: FeedbackPlaces) -> SQL {
        """
        SELECT q.*, now() AS received_at, s.accused_at, held.kind, held.claimed_at, t.dead_at, t.quarantined_at,
            coalesce(\(unescaped: Self.wasKnown("t")), false) AS was_known,
            coalesce(\(unescaped: QuarantineStatements.isOn), false) AS is_guarded,
            CASE WHEN held.claimed_at > coalesce(t.dead_at, '-infinity') AND held.claimed_at <= s.accused_at THEN
                CASE WHEN q.verdict = 'dead' THEN 'dropped'
                    WHEN held.claimed_at > coalesce(t.quarantined_at, '-infinity') THEN 'quarantined' ELSE 'none' END
                ELSE 'none' END AS effect
        FROM \(sql: held(at: places))
        LEFT JOIN quarantine_guards g ON \(sql: scope.contains("g")) AND g.kind = held.kind
        CROSS JOIN LATERAL (SELECT \(unescaped: Self.reportedAt) AS accused_at) AS s
        """
    }

    private var accusations: SQL {
        """
        , accused AS (\(sql: accusation)), revised AS (\(sql: revision))
        """
    }

    /// The report withholds the value for good, or, unless the guard is on, until a client confirms it.
    private static let isAccused = """
        (r.verdict = 'dead' OR (r.verdict = 'suspect' AND r.claimed_at <= r.accused_at AND NOT r.is_guarded))
        """

    /// A quarantine that is in force stays as it is.
    private var accusation: SQL {
        let isNew = "r.verdict = 'suspect' AND (t.quarantined_at IS NULL OR r.effect = 'quarantined')"
        let quarantine = [
            ("quarantined_at", "r.accused_at"), ("quarantined_kind", "r.kind"), ("quarantine_reason", "r.reason"),
        ].map { "\($0) = CASE WHEN \(isNew) THEN \($1) ELSE t.\($0) END" }
        return """
            UPDATE token_values t SET
                dead_at = CASE WHEN r.verdict = 'dead' THEN greatest(t.dead_at, r.accused_at) ELSE t.dead_at END,
                \(unescaped: quarantine.joined(separator: ", ")),
                touched_at = CASE WHEN t.activity_id IS NULL THEN r.received_at ELSE t.touched_at END
            FROM reports r
            WHERE \(unescaped: Self.isAccused) AND t.ctid = r.value_place AND \(sql: scope.contains("t"))
            RETURNING t.token_digest, t.activity_id, t.installation_hash, t.dead_at, t.purged_at, t.quarantined_at, r.effect, r.activity_place
            """
    }

    /// The activities whose token was accused. A dead token stays the activity's last.
    private var revision: SQL {
        """
        UPDATE activities a SET revision = a.revision + CASE WHEN t.effect <> 'none' THEN 1 ELSE 0 END,
            withheld = CASE WHEN a.withheld IN ('taken-over', 'kind-conflict') THEN a.withheld
                WHEN a.token_claimed_at <= t.dead_at AND t.purged_at = t.dead_at THEN 'purged'
                WHEN a.token_claimed_at <= t.dead_at THEN 'unregistered'
                WHEN a.token_claimed_at <= t.quarantined_at THEN 'quarantined' END
        FROM accused t
        WHERE a.ctid = t.activity_place AND \(sql: holds)
        """
    }

    /// An event for each activity, and for each installation, that loses a value by ``outcome(of:)``, which must follow: of
    /// several holders one may have claimed it later than APNs said it dead, and keeps it. A
    /// statement of its own: a distributed Postgres takes no insertion as a part of another.
    private func event(of reports: SQL) -> SQL {
        EventStatements.insertion(
            """
            SELECT CASE WHEN r.verdict = 'dead' THEN 'dropped' ELSE r.effect END AS type, lost.* FROM (\(sql: reports)) AS r
            CROSS JOIN LATERAL \(sql: value(of: "r")) AS t
            CROSS JOIN LATERAL (
                (SELECT \(unescaped: EventStatements.columns(of: "a")), a.token_claimed_at AS claimed_at FROM activities a
                WHERE a.ctid = r.activity_place AND \(sql: holds) LIMIT 1)
                UNION ALL
                SELECT \(unescaped: EventStatements.columns(ofHolder: "h")), h.claimed_at FROM (SELECT) AS value \(sql: quarantine.holders)
                WHERE h.kind <> 'update' AND \(unescaped: Self.mayBeOfInstallation)
            ) AS lost
            WHERE (r.effect <> 'none' OR r.verdict = 'dead') AND \(unescaped: Self.isAccused)
                AND lost.claimed_at > coalesce(r.dead_at, '-infinity') AND lost.claimed_at <= r.accused_at
            """,
            by: who,
            in: scope
        )
    }

    private func value(of report: String) -> SQL {
        """
        (SELECT * FROM token_values v WHERE v.ctid = \(unescaped: report).value_place AND \(sql: scope.contains("v"))
            AND v.token_digest = \(unescaped: report).token_digest LIMIT 1)
        """
    }

    private var delivery: SQL {
        """
        , delivered AS (
            UPDATE token_values t SET delivered_at = now() FROM reports r
            WHERE r.verdict = 'delivered' AND t.ctid = r.value_place AND \(sql: scope.contains("t"))
        )
        """
    }

    /// The answer to each report, in the order given: the action, and the kind of the current holder.
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
            r.kind
        FROM reports r
        ORDER BY r.position
        """
    }

    /// Which of the values are known in the other environment. A statement of its own: on Citus these may be on another
    /// node.
    func knownElsewhere(_ digests: [[UInt8]]) -> SQL {
        """
        SELECT v.token_digest FROM token_values v
        WHERE \(sql: scope.other.contains("v")) AND v.token_digest = ANY(\(digests)) AND \(unescaped: Self.wasKnown("v"))
        """
    }

    private static func wasKnown(_ row: String) -> String {
        """
        (\(row).activity_id IS NOT NULL OR \(row).installation_hash IS NOT NULL OR \(row).start_observed_at IS NOT NULL)
        """
    }
}
