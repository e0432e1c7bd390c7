import PostgresDriver
import RegistryCore

extension Registry {
    /// Remembers how many tokens of each kind every app has now, unless that was done within these five minutes.
    ///
    /// Any instance may do it at any time; where several do it at once, one count is kept.
    ///
    /// - Returns: whether it was due.
    @discardableResult
    public func recordTokenCounts() async throws -> Bool {
        try await write { session in
            guard try session.execute(TokenCountStatements.isDue)[0].decode(Bool.self) else { return false }
            let percents = try StatisticsStatements.percents(
                of: StatisticsStatements.tables,
                sampling: TokenCountStatements.sampleSize(of:),
                session
            )
            _ = try session.pipeline([TokenCountStatements.record(percents: percents), TokenCountStatements.thinOut])
            return true
        }
    }
}

/// The statements that remember how many tokens there were.
enum TokenCountStatements {
    /// About how many rows of a table a count reads. It is one statement over both: at some 17 microseconds a row that is one
    /// second, and a statement has four.
    static func sampleSize(of table: String) -> Int { table == "activities" ? 20_000 : 40_000 }

    /// The time that a count made now is of.
    private static let current = "date_bin('5 minutes', now(), '2020-01-01'::timestamptz)"

    /// Every app in every environment.
    private static let scopes = "apps p CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment)"

    /// Whether something has not been counted for this time.
    static let isDue: SQL = """
        SELECT EXISTS (SELECT FROM \(unescaped: scopes) WHERE NOT EXISTS (
            SELECT FROM token_counts c
            WHERE c.app_number = p.app_number AND c.environment = e.environment AND c.counted_at = \(unescaped: current)
        ))
        """

    /// Counts the tokens of all apps that would be pushed to, as ``StatisticsStatements`` does.
    ///
    /// - Parameter percents: how much of each of ``StatisticsStatements/tables`` is read; counts are as many as the whole would give.
    static func record(percents: [Double]) -> SQL {
        """
        INSERT INTO token_counts (app_number, environment, counted_at, counts)
        SELECT p.app_number, e.environment, \(unescaped: current), coalesce(found.counts, '{}')
        FROM \(unescaped: scopes)
        LEFT JOIN (
            SELECT k.app_number, k.environment, jsonb_object_agg(k.kind, k.count) AS counts FROM (
                \(sql: count("activities", kind: "'update'", percents[0]))
                UNION ALL \(sql: count("installation_tokens", kind: "r.kind", percents[1]))
            ) AS k
            GROUP BY 1, 2
        ) AS found ON found.app_number = p.app_number AND found.environment = e.environment
        ON CONFLICT DO NOTHING
        """
    }

    private static func count(_ table: String, kind: String, _ percent: Double) -> SQL {
        """
        SELECT r.app_number, r.environment, \(unescaped: kind) AS kind, round(count(*) * 100 / \(percent))::bigint AS count
        FROM \(sql: StatisticsStatements.judged(table, percent)) WHERE v.verdict IS NULL
        GROUP BY 1, 2, 3
        """
    }

    /// Deletes what is older than the longest window of charts, and all but the last of each hour that is older than the
    /// windows that show more.
    static let thinOut: SQL = """
        DELETE FROM token_counts c
        WHERE c.counted_at < now() - interval '31 days' OR c.counted_at < now() - interval '25 hours' AND EXISTS (
            SELECT FROM token_counts later
            WHERE later.app_number = c.app_number AND later.environment = c.environment
                AND later.counted_at > c.counted_at
                AND later.counted_at < date_bin('1 hour', c.counted_at, '2020-01-01'::timestamptz) + interval '1 hour'
        )
        """
}
