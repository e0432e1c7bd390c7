import PostgresDriver
import RegistryCore

extension Registry {
    /// Counts what there is of all apps together; large tables are sampled.
    ///
    /// - Throws: `unavailable`.
    package func census() async throws -> Census {
        let (apps, percents, eventsWritten) = try await read { session in
            // Of all apps together: where each is counted by itself, it is by the same part of its rows.
            let percents = try StatisticsStatements.percents(
                of: StatisticsStatements.tables,
                sampling: CensusStatements.sampleSize(of:),
                session
            )
            let events = try session.execute(CensusStatements.eventsWritten)[0].decode(Int.self)
            return (try AppNumbers.counted(session), percents, events)
        }
        var census = Census()
        census.eventsWritten = eventsWritten
        // Units of work of their own, for there may be more apps than one has time for.
        for app in apps {
            census.add(
                try await read { session in
                    var part = Census()
                    try part.add(session.pipeline(CensusStatements.all(percents, of: app)), percents)
                    return part
                }
            )
        }
        return census
    }
}

extension Census {
    /// Adds what there is of other apps.
    fileprivate mutating func add(_ other: Census) {
        activities.merge(other.activities, uniquingKeysWith: +)
        tokens.merge(other.tokens, uniquingKeysWith: +)
        sweepLag = max(sweepLag, other.sweepLag)
        activeGuards += other.activeGuards
    }

    /// Adds what ``CensusStatements/all(_:of:)`` found.
    fileprivate mutating func add(_ results: [PostgresResult], _ percents: [Double]) throws {
        try addActivities(results[0], scale: 100 / percents[0])
        try addTokens(results[1], scale: 100 / percents[1])
        sweepLag = max(sweepLag, try results[2][0].decode(Duration?.self) ?? .zero)
        activeGuards += try results[3][0].decode(Int.self)
    }

    private mutating func addActivities(_ result: PostgresResult, scale: Double) throws {
        for row in result.rows {
            let (place, word, token, count) = try row.decode(String.self, String.self, String?.self, Int.self)
            guard let environment = APNSEnvironment(rawValue: place), let state = ActivityState(rawValue: word) else {
                throw UnreadableRow(detail: "an unknown environment or state")
            }
            let all = Int((Double(count) * scale).rounded())
            activities[ActivityGroup(environment: environment, state: state), default: 0] += all
            if let token { try add(all, "update", token, environment) }
        }
    }

    private mutating func addTokens(_ result: PostgresResult, scale: Double) throws {
        for row in result.rows {
            let (place, kind, state, count) = try row.decode(String.self, String.self, String.self, Int.self)
            guard let environment = APNSEnvironment(rawValue: place) else {
                throw UnreadableRow(detail: "an unknown environment")
            }
            try add(Int((Double(count) * scale).rounded()), kind, state, environment)
        }
    }

    private mutating func add(_ count: Int, _ kind: String, _ word: String, _ environment: APNSEnvironment) throws {
        guard let state = TokenState(rawValue: word) else { throw UnreadableRow(detail: "an unknown state") }
        tokens[TokenGroup(environment: environment, kind: kind, state: state), default: 0] += count
    }
}

/// The statements that count what there is, of all apps at once or of one, for metrics.
///
/// Each is asked every half a minute or so by every instance, so a large table is counted by a sample of its pages.
enum CensusStatements {
    /// About how many rows of a table a sample reads. Each costs two lookups by key, 16 microseconds together as measured on
    /// two cores that were busy, so a table takes less than a fifth of a second. Counts are a few percent off.
    static func sampleSize(of table: String) -> Int { table == "activities" ? 5000 : 10_000 }

    /// All of them, of an app; of all apps where it is nil.
    ///
    /// - Parameter percents: how much of each of ``StatisticsStatements/tables`` is read.
    static func all(_ percents: [Double], of app: Int64?) -> [SQL] {
        [
            activities(percent: percents[0], of: app), tokens(percent: percents[1], of: app), sweepLag(of: app),
            activeGuards(of: app),
        ]
    }

    /// The state of a token that there is, by its verdict.
    private static let tokenState = """
        CASE WHEN v.verdict IS NULL THEN 'current' WHEN v.verdict = 'quarantined' THEN 'quarantined' ELSE 'withheld' END
        """

    /// Activities by environment, state and the state of their token, null where they have none.
    static func activities(percent: Double, of app: Int64? = nil) -> SQL {
        """
        SELECT r.environment::text, v.state,
            CASE WHEN v.state = 'active' AND r.token IS NOT NULL THEN \(unescaped: tokenState) END, count(*)
        FROM \(sql: StatisticsStatements.judged("activities", percent, of: app))
        WHERE \(sql: AppNumbers.isOf(app, "r"))
        GROUP BY 1, 2, 3
        """
    }

    /// Tokens of installations by environment, kind and state.
    static func tokens(percent: Double, of app: Int64? = nil) -> SQL {
        """
        SELECT r.environment::text, r.kind, \(unescaped: tokenState), count(*)
        FROM \(sql: StatisticsStatements.judged("installation_tokens", percent, of: app))
        WHERE r.token IS NOT NULL AND \(sql: AppNumbers.isOf(app, "r"))
        GROUP BY 1, 2, 3
        """
    }

    /// For how long the oldest expired activity has waited for the sweep.
    static func sweepLag(of app: Int64? = nil) -> SQL {
        """
        SELECT now() - min(oldest.expires_at) FROM apps p
        CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment)
        CROSS JOIN LATERAL (
            SELECT a.expires_at FROM activities a
            WHERE a.app_number = \(sql: AppNumbers.number(app, "p")) AND a.environment = e.environment AND a.ended_at IS NULL
                AND a.expiry_recorded_at IS NULL
            ORDER BY a.expires_at LIMIT 1
        ) AS oldest
        WHERE \(sql: AppNumbers.isOf(app, "p")) AND oldest.expires_at <= now()
        """
    }

    /// How many guards are on.
    static func activeGuards(of app: Int64? = nil) -> SQL {
        """
        SELECT count(*) FROM quarantine_guards g
        WHERE \(unescaped: QuarantineStatements.isOn) AND \(sql: AppNumbers.isOf(app, "g"))
        """
    }

    /// How many events were numbered.
    static let eventsWritten: SQL =
        "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('events', 'event_number')::regclass), 0)"
}
