import PostgresDriver

/// The statements that count what there is, of all apps at once, for metrics.
///
/// Each is asked every half a minute or so by every instance, so a large table is counted by a sample of its pages.
enum CensusStatements {
    /// About how many rows of a table a sample reads. Each costs two lookups by key, 16 microseconds together as measured on
    /// two cores that were busy, so a table takes less than a fifth of a second. Counts are a few percent off.
    static func sampleSize(of table: String) -> Int { table == "activities" ? 5000 : 10_000 }

    /// The state of a token that there is, by its verdict.
    private static let tokenState = """
        CASE WHEN v.verdict IS NULL THEN 'current' WHEN v.verdict = 'quarantined' THEN 'quarantined' ELSE 'withheld' END
        """

    /// Activities by environment, state and the state of their token, null where they have none.
    static func activities(percent: Double) -> SQL {
        """
        SELECT r.environment::text, v.state,
            CASE WHEN v.state = 'active' AND r.token IS NOT NULL THEN \(unescaped: tokenState) END, count(*)
        FROM \(sql: StatisticsStatements.judged("activities", percent))
        GROUP BY 1, 2, 3
        """
    }

    /// Tokens of installations by environment, kind and state.
    static func tokens(percent: Double) -> SQL {
        """
        SELECT r.environment::text, r.kind, \(unescaped: tokenState), count(*)
        FROM \(sql: StatisticsStatements.judged("installation_tokens", percent)) WHERE r.token IS NOT NULL
        GROUP BY 1, 2, 3
        """
    }

    /// For how long the oldest expired activity has waited for the sweep, how many guards are on, and how many events
    /// were numbered.
    static let rest: SQL = """
        SELECT
            (SELECT now() - min(oldest.expires_at) FROM apps p
                CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment)
                CROSS JOIN LATERAL (
                    SELECT a.expires_at FROM activities a
                    WHERE a.app_number = p.app_number AND a.environment = e.environment AND a.ended_at IS NULL
                        AND a.expiry_recorded_at IS NULL
                    ORDER BY a.expires_at LIMIT 1
                ) AS oldest
                WHERE oldest.expires_at <= now()),
            (SELECT count(*) FROM quarantine_guards g WHERE \(unescaped: QuarantineStatements.isOn)),
            coalesce(pg_sequence_last_value(pg_get_serial_sequence('events', 'event_number')::regclass), 0)
        """
}
