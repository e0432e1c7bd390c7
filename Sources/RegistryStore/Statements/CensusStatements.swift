import PostgresDriver

/// The statements that count what there is, of all apps at once, for metrics.
///
/// Each is asked every half a minute or so by every instance, so a large table is counted by a sample of its pages.
enum CensusStatements {
    /// About how many rows a sample reads. Each costs two lookups by key, 16 microseconds together as measured on two
    /// cores that were busy, so a table takes less than a tenth of a second. Counts are a few percent off.
    static let sampleSize = 5000

    /// The tables that are counted.
    static let tables = ["activities"] + StatisticsStatements.tokenTables

    /// The installation `i` and the token's value `t` of row `r`, where a condition says that they matter.
    private static func joined(where condition: String = "true") -> SQL {
        """
        LEFT JOIN LATERAL (
            SELECT of_it.full_state_at, of_it.removed_at FROM installations of_it
            WHERE \(unescaped: condition) AND of_it.app_number = r.app_number AND of_it.environment = r.environment
                AND of_it.installation_hash = r.installation_hash LIMIT 1
        ) AS i ON true
        LEFT JOIN LATERAL (
            SELECT v.* FROM token_values v
            WHERE \(unescaped: condition) AND v.app_number = r.app_number AND v.environment = r.environment
                AND v.token_digest = r.token_digest LIMIT 1
        ) AS t ON true
        """
    }

    /// The state of a token, as the views of what is handed out decide it.
    ///
    /// - Parameters:
    ///   - claim: the column of the time at which it was claimed.
    ///   - isHeld: whether it is whose it says it is.
    private static func tokenState(claim: String, isHeld: String) -> SQL {
        """
        CASE WHEN NOT coalesce(\(unescaped: isHeld), false) OR r.\(unescaped: claim) <= t.dead_at THEN 'withheld'
            WHEN r.\(unescaped: claim) <= t.quarantined_at THEN 'quarantined' ELSE 'current' END
        """
    }

    /// Activities by environment, state and the state of their token, null where they have none.
    static func activities(percent: Double) -> SQL {
        """
        SELECT s.environment::text, s.state, CASE WHEN s.state = 'active' THEN s.token_state END, count(*) FROM (
            SELECT r.environment,
                CASE WHEN r.ended_at IS NOT NULL OR i.removed_at >= r.started_at THEN 'ended'
                    WHEN r.expires_at <= now() THEN 'expired'
                    WHEN i.full_state_at > r.last_observed_at THEN 'dismissed' ELSE 'active' END AS state,
                CASE WHEN r.token IS NOT NULL THEN
                    \(sql: tokenState(
                        claim: "token_claimed_at",
                        isHeld: "t.activity_id = r.activity_id AND t.installation_hash IS NULL"
                    )) END AS token_state
            FROM \(sql: StatisticsStatements.sampled("activities AS r", percent))
            \(sql: joined(where: "r.ended_at IS NULL AND r.expires_at > now()"))
        ) AS s
        GROUP BY 1, 2, 3
        """
    }

    /// Start tokens, or tokens of the kinds that an installation has one of, by environment, kind and state.
    static func tokens(in table: String, percent: Double) -> SQL {
        let isStart = table == "start_tokens"
        let isThere = "r.observed_at > greatest(r.deleted_at, i.removed_at, '-infinity')"
        let isItsOwn =
            isStart
            ? "t.installation_hash IS NULL"
            : "t.installation_hash = r.installation_hash AND t.installation_kind = r.kind"
        return """
            SELECT s.environment::text, s.kind, s.state, count(*) FROM (
                SELECT r.environment, \(unescaped: isStart ? "'start'" : "r.kind") AS kind,
                    \(sql: tokenState(claim: "claimed_at", isHeld: "\(isThere) AND \(isItsOwn)")) AS state
                FROM \(sql: StatisticsStatements.sampled("\(table) AS r", percent))
                \(sql: joined())
                WHERE r.token IS NOT NULL
            ) AS s
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
