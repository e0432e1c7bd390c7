import PostgresDriver
import RegistryCore

/// The statements that end leases early, and their events.
///
/// A registration frees a lease without a statement: see ``LeaseRules/isAnswered``.
struct LeaseStatements {
    let scope: Scope
    let who: UTF8Text

    // MARK: Failure

    /// Frees leases whose start pushes failed, and counts the attempts. Always writes known leases (R1); one that
    /// failed before, or was given back, stays as it is.
    ///
    /// - Parameter failures: each lease once, with APNs's reason.
    func fail(_ failures: [(lease: LeaseID, reason: UTF8Text)]) -> [SQL] {
        let ids = failures.map(\.lease.bytes)
        let isOver = "(l.failed_at IS NOT NULL OR l.released_at IS NOT NULL)"
        let changes = [
            ("failed_at", "f.at"), ("failure", "f.failures[array_position(f.lease_ids, l.lease_id)]"),
            ("retry_at", "f.retries[\(Self.attempt)]"),
        ].map { "CASE WHEN \(isOver) THEN l.\($0) ELSE \($1) END" }
        let retries = LeaseRules.backOffs.map { "now() + interval '\($0)'" }.joined(separator: ", ")
        return [
            """
            UPDATE start_leases l SET (failed_at, failure, retry_at, leased_until, touched_at) = (
                SELECT \(unescaped: changes.joined(separator: ", ")), least(l.leased_until, f.at), f.at
                FROM (
                    -- Beside the assignments, which a distributed Postgres lets ask no clock.
                    SELECT now() AS at, now() - interval '24 hours' AS day_ago, ARRAY[\(unescaped: retries)] AS retries,
                        \(ids)::bytea[] AS lease_ids, \(failures.map(\.reason))::text[] AS failures
                ) AS f
            )
            WHERE \(sql: RowPlaces.isOf(scope, "l")) AND l.ctid = ANY(ARRAY(
                SELECT found.place FROM (SELECT * FROM unnest(\(ids)) AS given (lease_id) ORDER BY given.lease_id) AS q
                CROSS JOIN LATERAL (
                    SELECT its.ctid AS place FROM start_leases its
                    WHERE \(sql: scope.contains("its")) AND its.lease_id = q.lease_id LIMIT 1 FOR UPDATE
                ) AS found
            ))
            """,
            Self.event("start-failed", of: named(ids, "l.failed_at = l.touched_at"), by: who, in: scope),
        ]
    }

    /// The number of the last attempt among those of the day `f`: there are three at most, this one included.
    private static let attempt: String = {
        let earlier = (1...LeaseRules.mostAttempts).map {
            "coalesce((l.attempted_at[\($0)] > f.day_ago)::int, 0)"
        }
        return "greatest(1, \(earlier.joined(separator: " + ")))"
    }()

    // MARK: Giving back

    /// Gives a lease back; the attempt does not count. Always writes known leases (R1); one that is over stays as it
    /// is.
    func release(_ lease: LeaseID) -> [SQL] {
        [
            """
            UPDATE start_leases l SET leased_until = least(l.leased_until, f.at), touched_at = f.at,
                released_at = CASE WHEN l.failed_at IS NULL AND l.leased_until > f.at THEN f.at ELSE l.released_at END,
                attempted_at = CASE WHEN l.failed_at IS NULL AND l.leased_until > f.at
                    THEN l.attempted_at[:cardinality(l.attempted_at) - 1] ELSE l.attempted_at END
            FROM (SELECT now() AS at) AS f
            WHERE \(sql: scope.contains("l")) AND l.lease_id = \(lease.bytes)
            """,
            Self.event("lease-released", of: named([lease.bytes], "l.released_at = l.touched_at"), by: who, in: scope),
        ]
    }

    /// Leases by id that meet a condition. The row's last write has its latest time; now() differs among the nodes of
    /// Citus.
    private func named(_ ids: [[UInt8]], _ condition: String) -> SQL {
        """
        unnest(\(ids)) AS q (lease_id) CROSS JOIN LATERAL (
            SELECT * FROM start_leases its
            WHERE \(sql: scope.contains("its")) AND its.lease_id = q.lease_id LIMIT 1
        ) AS l WHERE \(unescaped: condition)
        """
    }

    // MARK: Going along

    /// A page of the alias's leases, on any installation.
    static func deletion(of alias: Alias, limit: Int, in scope: Scope) -> SQL {
        """
        DELETE FROM start_leases d WHERE \(sql: RowPlaces.isOf(scope, "d")) AND d.ctid = ANY(ARRAY(
            SELECT l.ctid FROM start_leases l
            WHERE \(sql: scope.contains("l")) AND l.kind = \(alias.kind) AND l.value = \(alias.value)
            LIMIT \(limit) FOR UPDATE
        ))
        """
    }

    /// Deletes leases whose attempts are more than a day old, so that no rule counts them.
    static func sweep(limit: Int, in scope: Scope) -> SQL {
        """
        DELETE FROM start_leases d WHERE \(sql: RowPlaces.isOf(scope, "d")) AND d.ctid = ANY(ARRAY(
            SELECT l.ctid FROM start_leases l
            WHERE \(sql: scope.contains("l")) AND l.leased_until > '-infinity'
                AND l.leased_until <= now() - interval '24 hours'
            ORDER BY l.leased_until LIMIT \(limit) FOR UPDATE SKIP LOCKED
        ))
        """
    }

    // MARK: Events

    static func event(_ type: String, of leases: SQL, by who: UTF8Text, in scope: Scope) -> SQL {
        .insertion(
            into: "events",
            "scope_id, drop_on, type, who, installation_hash, subject, aliases, lease_id",
            """
            SELECT \(scope.id), \(sql: EventStatements.dropDay(of: scope.app)), \(type), \(who), l.installation_hash,
                (SELECT i.subject FROM installations i
                WHERE \(sql: scope.contains("i")) AND i.installation_hash = l.installation_hash),
                jsonb_build_object(l.kind, jsonb_build_array(l.value)), l.lease_id
            FROM \(sql: leases)
            """
        )
    }
}
