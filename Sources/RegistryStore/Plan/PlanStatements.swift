import Foundation
import PostgresDriver
import RegistryCore

/// The statements of a plan.
///
/// First come the running activities of the alias, then the installations found by a name: a page contains one, the
/// other or both. Each rule is at its position in the order of the rules.
struct PlanStatements {
    let request: PlanRequest
    let scope: Scope
    let who: UTF8Text
    /// Part of the ids of the leases that these statements take. Random, so that no other request has it.
    let nonce = (0..<16).map { _ in UInt8.random(in: 0...255) }

    private var alias: Alias { request.alias }

    /// Bounds the newest activities of an installation to examine, ended and others. A phone runs a handful.
    private static let mostActivities = 1000

    // MARK: Activities

    /// Bounds the activities of the alias to examine for a page: most of a crowd may be over by the times.
    static let mostBearers = 10_000

    /// In the order of the immutable key.
    func activities(after key: Int64, limit: Int) -> SQL {
        """
        SELECT \(PlanRow.columns)
        FROM \(sql: ResolveStatements.rows(of: alias, after: key, limit: Self.mostBearers, in: scope))
        CROSS JOIN LATERAL (
            SELECT * FROM explained_activities its
            WHERE \(sql: scope.contains("its")) AND its.activity_key = al.activity_key AND its.activity_key > 0
                AND its.state = 'active' LIMIT 1
        ) AS cur
        CROSS JOIN LATERAL (
            SELECT \(unescaped: Self.rulingOfRunning) AS ruling, cur.installation_hash,
                cur.created_at + interval '1 minute' AS retry_at, NULL::bytea AS start_token, NULL::bytea AS lease_id,
                NULL::timestamptz AS leased_until, NULL::bigint AS attempt
        ) AS p
        \(sql: deviceToken)
        ORDER BY al.activity_key LIMIT \(limit)
        """
    }

    private static let rulingOfRunning = """
        CASE WHEN cur.reason IS NULL THEN 'update' WHEN cur.created_at > now() - interval '1 minute' THEN 'token-pending'
        ELSE 'no-update-token' END
        """

    private var deviceToken: SQL {
        let alerts = PlanRuling.alerts.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return """
            LEFT JOIN LATERAL (
                SELECT its.token FROM deliverable_installation_tokens its
                WHERE \(sql: scope.contains("its")) AND its.installation_hash = p.installation_hash
                    AND its.kind = \(TokenKind.device.name) AND its.attributes_type = ''
                    AND p.ruling IN (\(unescaped: alerts)) LIMIT 1
            ) AS dt ON true
            """
    }

    // MARK: Installations

    /// The installations that bear the alias or are found by `to`, in the order of their hashes: per name, at most one
    /// page.
    func installations(after hash: [UInt8], limit: Int) -> SQL {
        let names = [alias] + request.to
        return """
            SELECT DISTINCT named.installation_hash
            FROM unnest(\(names.map(\.kind)), \(names.map(\.value))) AS q (kind, value)
            CROSS JOIN LATERAL (
                SELECT al.installation_hash FROM installation_aliases al
                WHERE \(sql: scope.contains("al")) AND al.kind = q.kind AND al.value = q.value
                    AND al.installation_hash > \(hash)
                ORDER BY al.installation_hash LIMIT \(limit)
            ) AS named
            ORDER BY named.installation_hash LIMIT \(limit)
            """
    }

    /// Judges installations by the rules, and takes the leases of those on which the activity is to be started: the
    /// lease's row has a key, so only one planner gets it. If another planner was faster, the ruling is to start and
    /// there is no lease: the other's must become visible first.
    ///
    /// A lease that this plan already has is written again (R1).
    ///
    /// - Parameter key: activities up to this one were on earlier pages, and are left out with their installations.
    func take(_ hashes: [[UInt8]], after key: Int64) -> SQL {
        """
        WITH found AS MATERIALIZED (\(sql: found(hashes, after: key))), taken AS (
            INSERT INTO start_leases AS stored (\(unescaped: Self.leaseColumns)) \(sql: leases(from: "found")) \(sql: merge)
            RETURNING stored.installation_hash, stored.lease_id, stored.leased_at, stored.leased_until, stored.attempted_at
        )
        SELECT \(PlanRow.columns) FROM found
        LEFT JOIN taken ON taken.installation_hash = found.installation_hash
        CROSS JOIN LATERAL (
            SELECT found.ruling, found.installation_hash, found.retry_at, found.start_token, taken.lease_id,
                taken.leased_until, \(unescaped: LeaseRules.attempt(of: "taken", before: "taken.leased_at")) AS attempt
        ) AS p
        LEFT JOIN LATERAL (
            SELECT * FROM explained_activities its
            WHERE \(sql: scope.contains("its")) AND its.activity_key = found.running AND its.activity_key > 0 LIMIT 1
        ) AS cur ON true
        \(sql: deviceToken)
        ORDER BY found.installation_hash
        """
    }

    /// As two statements, because Citus rejects an insertion next to a query: the first takes the leases, the second
    /// judges the installations and returns the answer.
    func takeOnCitus(_ hashes: [[UInt8]], after key: Int64) -> [SQL] {
        let insertion = SQL.insertion(
            into: "start_leases",
            as: "stored",
            Self.leaseColumns,
            leases(from: "(\(sql: found(hashes, after: key, isInParts: true))) AS found")
        )
        let taken = "found.is_ours OR coalesce(found.plan_id = asked.plan_id, false)"
        let attempt = LeaseRules.attempt(of: "found", before: "found.leased_at")
        let answer: SQL = """
            SELECT \(PlanRow.columns) FROM (\(sql: found(hashes, after: key, isInParts: true))) AS found
            CROSS JOIN LATERAL (
                SELECT found.ruling, found.installation_hash, found.retry_at, found.start_token,
                    CASE WHEN \(unescaped: taken) THEN found.lease_id END AS lease_id, found.leased_until,
                    \(unescaped: attempt) AS attempt
                FROM (SELECT \(request.planID)::text AS plan_id OFFSET 0) AS asked
            ) AS p
            LEFT JOIN LATERAL (
                SELECT * FROM explained_activities its
                WHERE \(sql: scope.contains("its")) AND its.activity_key = found.running AND its.activity_key > 0 LIMIT 1
            ) AS cur ON true
            \(sql: deviceToken)
            ORDER BY found.installation_hash
            """
        return ["\(sql: insertion)\n\(sql: merge)", answer]
    }

    /// - Parameter isInParts: an earlier statement takes the leases: this one reads them, and a lease of these
    ///   statements does not count as another's.
    private func found(_ hashes: [[UInt8]], after key: Int64, isInParts: Bool = false) -> SQL {
        let lease: SQL =
            isInParts
            ? ", l.lease_id, l.plan_id, l.leased_at, l.leased_until, l.attempted_at, \(sql: isOurs) AS is_ours" : ""
        return """
            SELECT q.installation_hash, bearing.running, bearing.registered_at, st.token AS start_token,
                CASE ruled.ruling WHEN 'token-pending' THEN cur.created_at + interval '1 minute'
                    WHEN 'leased' THEN l.leased_until WHEN 'back-off' THEN l.retry_at END AS retry_at, ruled.ruling\(sql: lease)
            FROM unnest(\(hashes)) AS q (installation_hash)
            \(sql: Self.bearing("q.installation_hash", "\(alias.kind)", "\(alias.value)", in: scope))
            LEFT JOIN LATERAL (
                SELECT its.reason, its.created_at, its.activity_key FROM explained_activities its
                WHERE \(sql: scope.contains("its")) AND its.activity_key = bearing.running AND its.activity_key > 0 LIMIT 1
            ) AS cur ON true
            LEFT JOIN LATERAL (
                SELECT * FROM start_leases its
                WHERE \(sql: scope.contains("its")) AND its.installation_hash = q.installation_hash
                    AND its.kind = \(alias.kind) AND its.value = \(alias.value) LIMIT 1
            ) AS l ON true
            LEFT JOIN LATERAL (
                SELECT its.token, its.confirmed_at FROM deliverable_installation_tokens its
                WHERE \(sql: scope.contains("its")) AND its.installation_hash = q.installation_hash
                    AND its.kind = \(TokenKind.start.name) AND its.attributes_type = \(request.attributesType) LIMIT 1
            ) AS st ON true
            CROSS JOIN LATERAL (SELECT \(sql: ruling(isInParts: isInParts)) AS ruling) AS ruled
            WHERE coalesce(bearing.running > \(key), true)
            """
    }

    private func ruling(isInParts: Bool) -> SQL {
        let lease = LeaseRules(row: "l", now: "now()", registeredAt: "bearing.registered_at", plan: "asked.plan_id")
        return """
            (SELECT CASE WHEN cur.activity_key IS NOT NULL THEN \(unescaped: Self.rulingOfRunning)
            WHEN bearing.was_dismissed AND NOT \(request.restartsDismissed) THEN 'dismissed'
            WHEN \(unescaped: lease.isTaken) \(sql: isInParts ? "AND NOT \(sql: isOurs)" : "") THEN 'leased'
            WHEN \(unescaped: lease.isExhausted) THEN 'start-failed'
            WHEN \(unescaped: lease.isBackingOff) THEN 'back-off'
            WHEN st.confirmed_at > now() - \(request.maxStartTokenAge) THEN 'start'
            WHEN st.token IS NOT NULL THEN 'start-unconfirmed' ELSE 'no-start-token' END
            FROM (SELECT \(request.planID)::text AS plan_id) AS asked)
            """
    }

    /// Lease `l` of installation `q` was taken by these statements; Citus runs several.
    private var isOurs: SQL { "coalesce(l.lease_id = \(sql: leaseID("q.installation_hash")), false)" }

    /// All that is known of an alias on an installation, as `bearing`: the newest activity that bears it and runs, the last
    /// registration of one, and whether the user swiped the newest away, as the phone said (R4), and its tombstone is kept
    /// still. One that fell out of a full state is not dismissed by the user.
    ///
    /// - Parameters:
    ///   - hash: an expression, as are `kind` and `value`.
    static func bearing(_ hash: SQL, _ kind: SQL, _ value: SQL, in scope: Scope) -> SQL {
        """
        LEFT JOIN LATERAL (
            SELECT its.removed_at, its.full_state_at FROM installations its
            WHERE \(sql: scope.contains("its")) AND its.installation_hash = \(sql: hash) LIMIT 1
        ) AS phone ON true
        CROSS JOIN LATERAL (
            SELECT max(b.activity_key) FILTER (WHERE b.state = 'active') AS running,
                -- Of one that is over by the times, a late repetition says nothing.
                max(least(greatest(b.created_at, b.confirmed_at), b.expires_at,
                    CASE WHEN b.state = 'dismissed' THEN phone.full_state_at
                        WHEN b.state = 'ended' AND b.ended_at IS NULL THEN phone.removed_at END)) AS registered_at,
                coalesce((array_agg(b.end_reason = 'dismissed'
                        AND b.expires_at > now() - \(scope.app.settings.tombstoneRetention)
                    ORDER BY b.started_at DESC, b.activity_key DESC))[1], false) AS was_dismissed
            FROM (
                SELECT own.*, activity_state(own.ended_at, own.started_at, own.expires_at, own.last_observed_at,
                    phone.removed_at, phone.full_state_at) AS state
                FROM (VALUES (true), (false)) AS kept (runs) CROSS JOIN LATERAL (
                    SELECT * FROM activities a
                    WHERE \(sql: scope.contains("a")) AND a.installation_hash = \(sql: hash)
                        AND (a.ended_at IS NULL) = kept.runs
                    ORDER BY a.activity_key DESC LIMIT \(mostActivities)
                ) AS own
                WHERE own.aliases -> \(sql: kind) ? \(sql: value)
            ) AS b
        ) AS bearing
        """
    }

    // MARK: Leases

    private static let leaseColumns = """
        scope_id, installation_hash, kind, value, attributes_type, lease_id, plan_id, leased_at, leased_until,
        attempted_at, registered_at, touched_at
        """

    private func leases(from found: SQL) -> SQL {
        """
        SELECT \(scope.id), found.installation_hash, \(alias.kind), \(alias.value),
            \(request.attributesType), \(sql: leaseID("found.installation_hash")), \(request.planID)::text, now(),
            now() + \(request.lease), ARRAY[now()], found.registered_at, now()
        FROM \(sql: found) WHERE found.ruling = 'start' ORDER BY found.installation_hash
        """
    }

    /// Takes an existing lease, unless another planner has it since.
    private var merge: SQL {
        let lease = LeaseRules(
            row: "stored",
            now: "excluded.leased_at",
            registeredAt: "excluded.registered_at",
            plan: "excluded.plan_id"
        )
        return """
            ON CONFLICT (installation_hash, scope_id, kind, value) DO UPDATE SET
                \(unescaped: Self.kept(["attributes_type", "lease_id", "leased_at", "leased_until"], where: lease.isRepeated)),
                attempted_at = CASE WHEN \(unescaped: lease.isRepeated) THEN stored.attempted_at
                    WHEN \(unescaped: lease.isAnswered) THEN excluded.attempted_at
                    ELSE (stored.attempted_at || excluded.attempted_at)[greatest(cardinality(stored.attempted_at) - 1, 1):] END,
                plan_id = excluded.plan_id, failed_at = NULL, failure = NULL, retry_at = NULL, released_at = NULL,
                registered_at = excluded.registered_at, touched_at = excluded.touched_at
            WHERE NOT \(unescaped: lease.isTaken) AND NOT \(unescaped: lease.isExhausted)
                AND NOT \(unescaped: lease.isBackingOff)
            """
    }

    private static func kept(_ columns: [String], where condition: String) -> String {
        columns.map { "\($0) = CASE WHEN \(condition) THEN stored.\($0) ELSE excluded.\($0) END" }
            .joined(separator: ",\n    ")
    }

    private func leaseID(_ hash: String) -> SQL { "substr(sha256(\(nonce) || \(unescaped: hash)), 1, 16)" }

    /// The events of the leases taken by ``take(_:after:)`` earlier in the same transaction; a repeated plan already
    /// has them.
    func event(_ hashes: [[UInt8]]) -> SQL {
        LeaseStatements.event(
            "lease-taken",
            of: """
                unnest(\(hashes)) AS q (installation_hash) CROSS JOIN LATERAL (
                    SELECT * FROM start_leases its
                    WHERE \(sql: scope.contains("its")) AND its.installation_hash = q.installation_hash
                        AND its.kind = \(alias.kind) AND its.value = \(alias.value)
                        AND its.lease_id = \(sql: leaseID("q.installation_hash")) LIMIT 1
                ) AS l
                """,
            by: who,
            in: scope
        )
    }
}
