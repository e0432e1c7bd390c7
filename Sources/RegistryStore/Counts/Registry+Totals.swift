import PostgresDriver
import RegistryCore

extension Registry {
    /// The latest counts of all apps together, and what is found at once by indexes.
    ///
    /// - Throws: `unavailable`.
    package func totals() async throws -> Totals {
        var (apps, totals) = try await read { session in
            var totals = Totals()
            totals.eventsWritten = try session.execute(TotalStatements.eventsWritten)[0].decode(Int.self)
            return (try AppNumbers.counted(session), totals)
        }
        // Units of work of their own, for there may be more apps than one has time for.
        for app in apps {
            totals = try await read { [totals] session in
                var totals = totals
                try totals.add(session.pipeline(TotalStatements.all(of: app)))
                return totals
            }
        }
        return totals
    }
}

extension Totals {
    /// Adds what ``TotalStatements/all(of:)`` found.
    fileprivate mutating func add(_ results: [PostgresResult]) throws {
        for row in results[0].rows {
            let (place, age, json) = try row.decode(String.self, Duration.self, JSONB?.self)
            guard let environment = APNSEnvironment(rawValue: place) else {
                throw UnreadableRow(detail: "an unknown environment")
            }
            self.age = max(self.age, age)
            let ages = try json.map(Counts.ages(stored:)) ?? [:]
            counts[environment]?.merge(ages.mapValues { $0.reduce(0, +) }, uniquingKeysWith: +)
        }
        sweepLag = max(sweepLag, try results[1][0].decode(Duration?.self) ?? .zero)
        activeGuards += try results[2][0].decode(Int.self)
    }
}

/// The statements about all apps at once, or one of them, for metrics.
enum TotalStatements {
    /// All of them, of an app; of all apps where it is nil.
    static func all(of app: Int64?) -> [SQL] { [counts(of: app), sweepLag(of: app), activeGuards(of: app)] }

    /// Every app, or one, in every environment.
    private static let scopes = "apps p CROSS JOIN unnest(enum_range(NULL::apns_environment)) AS e (environment)"

    /// The latest counts of each app in each environment, and their age.
    static func counts(of app: Int64?) -> SQL {
        """
        SELECT e.environment::text, greatest(now() - coalesce(latest.counted_at, p.created_at), '0'), latest.ages
        FROM \(unescaped: scopes)
        LEFT JOIN LATERAL (
            SELECT c.counted_at, c.ages FROM counts c
            WHERE c.app_number = \(sql: AppNumbers.number(app, "p")) AND c.environment = e.environment
            ORDER BY c.counted_at DESC LIMIT 1
        ) AS latest ON true
        WHERE \(sql: AppNumbers.isOf(app, "p"))
        """
    }

    /// For how long the oldest expired activity has waited for the sweep.
    static func sweepLag(of app: Int64?) -> SQL {
        """
        SELECT now() - min(oldest.expires_at) FROM \(unescaped: scopes)
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
    static func activeGuards(of app: Int64?) -> SQL {
        """
        SELECT count(*) FROM quarantine_guards g
        WHERE \(unescaped: QuarantineStatements.isOn) AND \(sql: AppNumbers.isOf(app, "g"))
        """
    }

    /// How many events were numbered.
    static let eventsWritten: SQL =
        "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('events', 'event_number')::regclass), 0)"
}
