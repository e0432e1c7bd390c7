import Foundation
import PostgresDriver
import RegistryCore

/// The statements that count the activities and tokens of an app in one environment, and store the counts.
struct CountStatements {
    let scope: Scope

    /// The approximate limit of rows read of a table. A row costs two lookups by key, about 16 microseconds together, so a
    /// table takes at most half a second. Counts are a few percent off.
    static let sampleSize = 30_000

    // MARK: Counting

    private static let tokenState = """
        CASE WHEN r.withheld IS NULL THEN 'current' WHEN r.withheld = 'quarantined' THEN 'quarantined' ELSE 'withheld' END
        """

    /// The index of the age in ``RegistryStatistics/emptyAges``.
    private static func age(_ time: String) -> String {
        let limits = RegistryStatistics.ageLimits.map { "'\($0.components.seconds) seconds'::interval" }
        return "width_bucket(now() - \(time), ARRAY[\(limits.joined(separator: ", "))])"
    }

    /// Activities by state and age, and by the state and age of their token, which are null if the activity is over or has no
    /// token. The condition on `activity_key` makes an index of the scope's rows usable.
    func activities(percent: Double) -> SQL {
        """
        SELECT s.state, \(unescaped: Self.age("r.started_at")),
            CASE WHEN s.state = 'active' AND r.token IS NOT NULL THEN \(unescaped: Self.tokenState) END,
            CASE WHEN s.state = 'active' AND r.token IS NOT NULL THEN \(unescaped: Self.age("r.confirmed_at")) END,
            count(*)
        FROM \(sql: TableSample.pages("activities AS r", percent)) LEFT JOIN LATERAL (
            SELECT its.removed_at, its.full_state_at FROM installations its
            WHERE \(sql: scope.contains("its")) AND its.installation_hash = r.installation_hash LIMIT 1
        ) AS i ON true CROSS JOIN LATERAL (
            SELECT activity_state(
                r.ended_at, r.started_at, r.expires_at, r.last_observed_at, i.removed_at, i.full_state_at
            ) AS state
        ) AS s
        WHERE \(sql: scope.contains("r")) AND r.activity_key > 0
        GROUP BY 1, 2, 3, 4
        """
    }

    /// Tokens of installations by kind, state and age.
    func tokens(percent: Double) -> SQL {
        """
        SELECT r.kind, \(unescaped: Self.tokenState), \(unescaped: Self.age("r.confirmed_at")), count(*)
        FROM \(sql: TableSample.pages("installation_tokens AS r", percent))
        WHERE \(sql: scope.contains("r")) AND r.token IS NOT NULL
        GROUP BY 1, 2, 3
        """
    }

    // MARK: Storing

    private static let columns = "c.counted_at, c.is_estimated, c.ages"

    /// Stores the counts of this minute, unless another instance was first.
    func store(_ ages: JSONB, isEstimated: Bool) -> SQL {
        """
        INSERT INTO counts (scope_id, counted_at, is_estimated, ages)
        VALUES (\(scope.id), date_trunc('minute', now()), \(isEstimated), \(ages))
        ON CONFLICT DO NOTHING
        """
    }

    /// The counts of this minute.
    var current: SQL {
        """
        SELECT \(unescaped: Self.columns)
        FROM counts c WHERE \(sql: scope.contains("c")) AND c.counted_at >= date_trunc('minute', now())
        """
    }

    var latest: SQL {
        """
        SELECT \(unescaped: Self.columns)
        FROM counts c WHERE \(sql: scope.contains("c")) ORDER BY c.counted_at DESC LIMIT 1
        """
    }

    /// All counts since a time, the earliest first.
    func history(since start: Date) -> SQL {
        """
        SELECT \(unescaped: Self.columns)
        FROM counts c WHERE \(sql: scope.contains("c")) AND c.counted_at >= \(start) ORDER BY c.counted_at
        """
    }

    /// Keeps the last row of every five minutes after an hour, the last row of every hour after 25 hours, and none after 31
    /// days: charts show no more.
    var thinOut: SQL {
        """
        DELETE FROM counts c WHERE \(sql: scope.contains("c")) AND (
            c.counted_at < now() - interval '31 days'
            OR c.counted_at < now() - interval '25 hours' AND \(sql: isFollowed(within: "1 hour"))
            OR c.counted_at < now() - interval '1 hour' AND \(sql: isFollowed(within: "5 minutes"))
        )
        """
    }

    private func isFollowed(within step: String) -> SQL {
        let end = "date_bin('\(step)', c.counted_at, '2020-01-01'::timestamptz) + interval '\(step)'"
        return """
            EXISTS (
                SELECT FROM counts later WHERE \(sql: scope.contains("later"))
                    AND later.counted_at > c.counted_at AND later.counted_at < \(unescaped: end)
            )
            """
    }
}
