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
        CASE WHEN v.verdict IS NULL THEN 'current' WHEN v.verdict = 'quarantined' THEN 'quarantined' ELSE 'withheld' END
        """

    /// The index of the age in ``RegistryStatistics/emptyAges``.
    private static func age(_ time: String) -> String {
        let limits = RegistryStatistics.ageLimits.map { "'\($0.components.seconds) seconds'::interval" }
        return "width_bucket(now() - \(time), ARRAY[\(limits.joined(separator: ", "))])"
    }

    /// Rows `r` of pages of a table, each with its verdict `v`. A view has no pages, so each row is looked up in it by its
    /// place.
    private func judged(_ table: String, _ view: VerdictView, _ percent: Double) -> SQL {
        """
        \(sql: TableSample.pages("\(table) AS r", percent)) CROSS JOIN LATERAL (
            SELECT * FROM \(sql: scope.view(view)) its
            WHERE its.place = r.ctid AND \(sql: RowPlaces.isOf(scope, "its")) LIMIT 1
        ) AS v
        """
    }

    /// Activities by state and age, and by the state and age of their token, which are null if the activity is over or has no
    /// token. The condition on `activity_key` makes an index of the scope's rows usable.
    func activities(percent: Double) -> SQL {
        """
        SELECT v.state, \(unescaped: Self.age("r.started_at")),
            CASE WHEN v.state = 'active' AND r.token IS NOT NULL THEN \(unescaped: Self.tokenState) END,
            CASE WHEN v.state = 'active' AND r.token IS NOT NULL THEN \(unescaped: Self.age("r.confirmed_at")) END,
            count(*)
        FROM \(sql: judged("activities", .activities, percent))
        WHERE \(sql: scope.contains("r")) AND r.activity_key > 0
        GROUP BY 1, 2, 3, 4
        """
    }

    /// Tokens of installations by kind, state and age.
    func tokens(percent: Double) -> SQL {
        """
        SELECT r.kind, \(unescaped: Self.tokenState), \(unescaped: Self.age("r.confirmed_at")), count(*)
        FROM \(sql: judged("installation_tokens", .installationTokens, percent))
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
