import PostgresDriver
import RegistryCore

extension Registry {
    /// The latest counts of all apps together, with the sweep's lag, the active guards and the number of events.
    ///
    /// - Throws: `unavailable`.
    package func totals() async throws -> Totals {
        var (apps, totals) = try await read { session in
            var totals = Totals()
            totals.eventsWritten = try session.execute(TotalStatements.eventsWritten)[0].decode(Int.self)
            return (try AppNumbers.counted(session), totals)
        }
        // A unit of work for each, because the deadline of one may be too short for many apps.
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

/// The statements for metrics, about all apps at once or about one.
enum TotalStatements {
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

    static func activeGuards(of app: Int64?) -> SQL {
        """
        SELECT count(*) FROM quarantine_guards g
        WHERE \(unescaped: QuarantineStatements.isOn) AND \(sql: AppNumbers.isOf(app, "g"))
        """
    }

    /// The last number given to an event.
    static let eventsWritten: SQL =
        "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('events', 'event_number')::regclass), 0)"
}
