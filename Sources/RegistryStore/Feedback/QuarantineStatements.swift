import Foundation
import PostgresDriver
import RegistryCore

/// The statements of the burst guard, and of release.
///
/// A wrong key or topic on the sender's side looks like very many bad tokens at once, and must not empty the registry.
struct QuarantineStatements {
    let scope: Scope
    let who: UTF8Text

    /// The window in which quarantines count, and the time without reports after which the guard turns off (R8).
    private static let window = "interval '10 minutes'"
    static let isOn = "(g.tripped_at IS NOT NULL AND g.reported_at > now() - \(window))"

    static func guardsThatAreOn(of app: App) -> SQL {
        """
        SELECT s.environment::text, g.kind, g.tripped_at
        FROM scopes s JOIN quarantine_guards g ON g.scope_id = s.scope_id
        WHERE s.app_id = \(app.id) AND \(unescaped: isOn) ORDER BY s.environment, g.kind
        """
    }

    /// The holders of one value to examine. Values may repeat, but one phone has the value in a few types; a thousand
    /// installations with it are artificial, and the remaining ones follow the value's row.
    static let mostHolders = 1000

    /// The current holders of value `t`, looked up value by value: joined whole, the planner would read all tables.
    var holders: SQL {
        """
        CROSS JOIN LATERAL (
            SELECT * FROM \(sql: scope.view(.tokenHolders)) current
            WHERE \(sql: scope.contains("current")) AND current.token_digest = t.token_digest
            LIMIT \(Self.mostHolders)
        ) AS h
        """
    }

    /// Serializes reports that may quarantine.
    var lockGuards: SQL {
        """
        INSERT INTO quarantine_guards AS stored (scope_id, kind)
        SELECT \(scope.id), kinds.kind FROM token_kinds kinds ORDER BY kinds.kind
        ON CONFLICT (scope_id, kind) DO UPDATE SET reported_at = stored.reported_at
        """
    }

    /// Trips the guard if the batch exceeds the window's limit for a kind, and keeps it on while reports continue.
    ///
    /// - Parameter reports: each report `q`, its value `t`, and its holder `held`.
    func guarding(_ reports: SQL) -> SQL {
        """
        UPDATE quarantine_guards g SET reported_at = judged.at, tripped_at = CASE
            WHEN g.tripped_at IS NOT NULL AND g.reported_at > judged.since THEN g.tripped_at
            WHEN judged.is_burst THEN judged.at END
        FROM (
            -- Judged before the assignment, which a distributed Postgres lets ask neither clock nor table.
            SELECT reports.kind, now() AS at, now() - \(unescaped: Self.window) AS since,
                reports.fresh + recent.count > 3 AND reports.fresh + recent.count > \(sql: limit) AS is_burst
            FROM (
                SELECT held.kind, count(*) FILTER (WHERE held.claimed_at > greatest(t.quarantined_at, t.dead_at, '-infinity')
                    AND held.claimed_at <= \(unescaped: FeedbackStatements.reportedAt)) AS fresh
                FROM \(sql: reports)
                WHERE q.verdict = 'suspect'
                GROUP BY held.kind
            ) AS reports CROSS JOIN LATERAL (\(sql: recent)) AS recent
            WHERE reports.fresh > 0 OFFSET 0
        ) AS judged
        WHERE \(sql: scope.contains("g")) AND g.kind = judged.kind
        RETURNING g.kind, g.tripped_at = g.reported_at
        """
    }

    private var recent: SQL {
        """
        SELECT count(*) AS count FROM token_values v WHERE \(sql: scope.contains("v"))
            AND v.quarantined_kind = reports.kind AND v.quarantined_at > now() - \(unescaped: Self.window)
        """
    }

    /// 20 % of the current tokens of their kind, at most 1000; so no more than 5000 are counted.
    private var limit: SQL {
        """
        (CASE WHEN reports.kind = 'update' THEN (SELECT count(*) FROM (
                SELECT FROM activities a WHERE \(sql: scope.contains("a")) AND a.ended_at IS NULL
                    AND a.expiry_recorded_at IS NULL AND a.expires_at > now() AND a.token IS NOT NULL LIMIT 5000
            ) AS current)
            ELSE (SELECT count(*) FROM (
                SELECT FROM installation_tokens r
                WHERE \(sql: scope.contains("r")) AND r.kind = reports.kind AND r.token_number > 0 AND r.token IS NOT NULL LIMIT 5000
            ) AS current) END / 5)
        """
    }

    // MARK: Release

    /// The statements by which the guard releases a burst, in the transaction in which it trips; the guards are locked.
    ///
    /// - Parameter kinds: those whose guard trips.
    func releaseBurst(of kinds: [String]) -> [SQL] {
        releaseLocked(
            """
            SELECT v.token_digest FROM token_values v
            WHERE \(sql: scope.contains("v")) AND v.quarantined_kind = ANY(\(kinds))
                AND v.quarantined_at > now() - \(unescaped: Self.window)
            """
        )
    }

    /// The value that an activity's token has.
    func release(_ id: ActivityID) -> [SQL] {
        release(
            """
            SELECT a.token_digest FROM activities a
            JOIN token_values v ON \(sql: scope.contains("v")) AND v.token_digest = a.token_digest AND v.quarantined_at IS NOT NULL
                AND v.activity_id = a.activity_id
            WHERE \(sql: scope.contains("a")) AND a.activity_id = \(id.rawValue)
            """
        )
    }

    /// The value that an installation's token has, unless it is another's by now.
    func release(_ rows: TokenSlotRows) -> [SQL] {
        release(
            """
            SELECT v.token_digest FROM installation_tokens own
            JOIN token_values v ON \(sql: scope.contains("v")) AND v.token_digest = own.token_digest AND v.quarantined_at IS NOT NULL
                AND (NOT own.has_one_owner OR v.installation_hash = own.installation_hash)
            WHERE \(sql: rows.matches("own")) AND own.token IS NOT NULL
            """
        )
    }

    /// Values per transaction when all quarantined values are released; reports wait for it.
    static let pageSize = 500

    /// The statements that begin the release of all that is quarantined in the app and environment; the last one gives until when
    /// that was quarantined, null where nothing is.
    ///
    /// Pages of all that was quarantined no later follow: ``quarantined(until:)``, ``releaseLocked(_:)``. Each locks the guards,
    /// which are let go between two. No page turns a guard on or off, as no release does: one that is on goes on keeping all from
    /// being quarantined, until ten minutes have passed without a report. A report that comes between two pages finds no more
    /// quarantines in the window than before the first page, and no fewer than after the last: so it trips no guard that it would
    /// not have tripped before the whole, and quarantines nothing that it could not have quarantined after it. What it quarantines
    /// as of a later time stays so, as after the whole; so the pages come to an end, however many reports come.
    ///
    /// The time is that of the last quarantine, not a clock's: each node of Citus has one of its own.
    var releaseAll: [SQL] {
        [
            lockGuards,
            """
            SELECT max(latest.quarantined_at) FROM token_kinds kinds CROSS JOIN LATERAL (
                SELECT v.quarantined_at FROM token_values v
                WHERE \(sql: isQuarantined)
                ORDER BY v.quarantined_at DESC LIMIT 1
            ) AS latest
            """,
        ]
    }

    /// A page of the values quarantined no later than a time, oldest first; released values are not found again.
    func quarantined(until last: Date) -> SQL {
        """
        SELECT found.token_digest FROM token_kinds kinds CROSS JOIN LATERAL (
            SELECT v.token_digest FROM token_values v
            WHERE \(sql: isQuarantined) AND v.quarantined_at <= \(last)
            ORDER BY v.quarantined_at LIMIT \(Self.pageSize)
        ) AS found LIMIT \(Self.pageSize)
        """
    }

    /// Value `v` is quarantined as one of a kind.
    private var isQuarantined: SQL {
        "\(sql: scope.contains("v")) AND v.quarantined_kind = kinds.kind AND v.quarantined_at IS NOT NULL"
    }

    /// Releases values that were found while the guards are locked; the last result has a row for each.
    func releaseLocked(_ digests: [[UInt8]]) -> [SQL] {
        releaseLocked("SELECT q.token_digest FROM unnest(\(digests)) AS q (token_digest)")
    }

    /// Releases values; the result of the last statement has a row for each.
    ///
    /// While the guards are locked, no report quarantines anything and no other session releases, so that all
    /// statements see the same values. The event and the revision come first: afterwards these values could not be
    /// identified.
    ///
    /// - Parameter digests: a query of the quarantined values.
    private func release(_ digests: SQL) -> [SQL] { [lockGuards] + releaseLocked(digests) }

    private func releaseLocked(_ digests: SQL) -> [SQL] {
        let inForce: SQL = """
            token_values t \(sql: holders)
            WHERE \(sql: scope.contains("t")) AND t.token_digest = ANY(ARRAY(\(sql: digests)))
                AND h.claimed_at <= t.quarantined_at AND h.claimed_at > coalesce(t.dead_at, '-infinity')
            """
        return [
            EventStatements.insertion(
                "SELECT 'released' AS type, \(unescaped: EventStatements.columns(ofHolder: "h")) FROM \(sql: inForce)",
                by: who,
                in: scope
            ),
            """
            UPDATE activities a SET revision = a.revision + 1, withheld = NULL
            WHERE \(sql: scope.contains("a")) AND a.activity_id = ANY(ARRAY(SELECT h.activity_id FROM \(sql: inForce)))
            """,
            """
            UPDATE token_values v SET quarantined_at = NULL, quarantined_kind = NULL, quarantine_reason = NULL
            WHERE \(sql: scope.contains("v")) AND v.token_digest = ANY(ARRAY(
                SELECT t.token_digest FROM token_values t
                WHERE \(sql: scope.contains("t")) AND t.token_digest = ANY(ARRAY(\(sql: digests)))
                ORDER BY t.token_digest FOR UPDATE
            ))
            RETURNING v.token_digest
            """,
        ]
    }
}
