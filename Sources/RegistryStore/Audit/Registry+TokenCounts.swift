import PostgresDriver
import RegistryCore

extension Registry {
    /// Remembers how many tokens of each kind every app has now, unless that was done within these five minutes.
    ///
    /// Any instance may do it at any time; where several do it at once, one count is kept.
    ///
    /// - Returns: whether it was due.
    @discardableResult
    package func recordTokenCounts() async throws -> Bool {
        var wasDue = false
        // Units of work of their own, for there may be more apps than one has time for.
        for app in try await read({ try AppNumbers.counted($0) }) {
            let isCounted = try await write { session in
                let isDue = try session.execute(TokenCountStatements.isDue(of: app))[0].decode(Bool.self)
                guard isDue else { return false }
                let percents = try StatisticsStatements.percents(
                    of: StatisticsStatements.tables,
                    sampling: TokenCountStatements.sampleSize(of:),
                    of: app,
                    session
                )
                _ = try session.pipeline([
                    TokenCountStatements.record(percents: percents, of: app), TokenCountStatements.thinOut(app),
                ])
                return true
            }
            wasDue = wasDue || isCounted
        }
        return wasDue
    }
}

/// The statements that remember how many tokens there were.
enum TokenCountStatements {
    /// About how many rows of a table a count reads. It is one statement over both: at some 17 microseconds a row that is one
    /// second, and a statement has four.
    static func sampleSize(of table: String) -> Int { table == "activities" ? 20_000 : 40_000 }

    /// The time that a count made now is of.
    private static let current = "date_bin('5 minutes', now(), '2020-01-01'::timestamptz)"

    /// Every app, or one, in every environment.
    private static let scopes = "apps p CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment)"

    /// Whether something has not been counted for this time.
    static func isDue(of app: Int64? = nil) -> SQL {
        """
        SELECT EXISTS (SELECT FROM \(unescaped: scopes) WHERE \(sql: AppNumbers.isOf(app, "p")) AND NOT EXISTS (
            SELECT FROM token_counts c
            WHERE c.app_number = \(sql: AppNumbers.number(app, "p")) AND c.environment = e.environment
                AND c.counted_at = \(unescaped: current)
        ))
        """
    }

    /// Counts the tokens of all apps, or of one, that would be pushed to, as ``StatisticsStatements`` does.
    ///
    /// - Parameter percents: how much of each of ``StatisticsStatements/tables`` is read; counts are as many as the whole would give.
    static func record(percents: [Double], of app: Int64? = nil) -> SQL {
        let rows = SQL.insertion(
            into: "token_counts",
            "app_number, environment, counted_at, counts",
            """
            SELECT p.app_number, e.environment, \(unescaped: current), coalesce(found.counts, '{}')
            FROM \(unescaped: scopes)
            LEFT JOIN (
                SELECT k.app_number, k.environment, jsonb_object_agg(k.kind, k.count) AS counts FROM (
                    \(sql: count("activities", kind: "'update'", percents[0], of: app))
                    UNION ALL \(sql: count("installation_tokens", kind: "r.kind", percents[1], of: app))
                ) AS k
                GROUP BY 1, 2
            ) AS found ON found.app_number = p.app_number AND found.environment = e.environment
            WHERE \(sql: AppNumbers.isOf(app, "p"))
            """
        )
        return "\(sql: rows)\nON CONFLICT DO NOTHING"
    }

    private static func count(_ table: String, kind: String, _ percent: Double, of app: Int64?) -> SQL {
        """
        SELECT r.app_number, r.environment, \(unescaped: kind) AS kind, round(count(*) * 100 / \(percent))::bigint AS count
        FROM \(sql: StatisticsStatements.judged(table, percent, of: app))
        WHERE v.verdict IS NULL AND \(sql: AppNumbers.isOf(app, "r"))
        GROUP BY 1, 2, 3
        """
    }

    /// Deletes what is older than the longest window of charts, and all but the last of each hour that is older than the
    /// windows that show more.
    static func thinOut(_ app: Int64? = nil) -> SQL {
        """
        DELETE FROM token_counts c
        WHERE \(sql: AppNumbers.isOf(app, "c")) AND (
            c.counted_at < now() - interval '31 days' OR c.counted_at < now() - interval '25 hours' AND EXISTS (
                SELECT FROM token_counts later
                WHERE later.app_number = \(sql: AppNumbers.number(app, "c")) AND later.environment = c.environment
                    AND later.counted_at > c.counted_at
                    AND later.counted_at < date_bin('1 hour', c.counted_at, '2020-01-01'::timestamptz) + interval '1 hour'
            )
        )
        """
    }
}
