import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// The latest counts of all apps together, with the sweep's lag, the active guards and the number of events.
    ///
    /// - Throws: `unavailable`.
    package func totals() async throws -> Totals {
        var (scopes, totals) = try await read { session in
            var totals = Totals()
            totals.eventsWritten = try session.execute(TotalStatements.eventsWritten)[0].decode(Int.self)
            return (try CountedScopes.all(session), totals)
        }
        // A unit of work for each, because the deadline of one may be too short for many scopes.
        for scope in scopes {
            totals = try await read { [totals] session in
                var totals = totals
                try totals.add(session.pipeline(TotalStatements.all(of: scope)))
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

/// The statements for metrics, about all scopes at once or about one.
enum TotalStatements {
    static func all(of scope: Int64?) -> [SQL] { [counts(of: scope), sweepLag(of: scope), activeGuards(of: scope)] }

    /// The latest counts of each scope, and their age.
    static func counts(of scope: Int64?) -> SQL {
        """
        SELECT s.environment::text, greatest(now() - coalesce(latest.counted_at, app.created_at), '0'), latest.ages
        FROM \(unescaped: CountedScopes.source)
        LEFT JOIN LATERAL (
            SELECT c.counted_at, c.ages FROM counts c
            WHERE c.scope_id = \(sql: CountedScopes.id(scope, "s"))
            ORDER BY c.counted_at DESC LIMIT 1
        ) AS latest ON true
        WHERE \(sql: CountedScopes.isOf(scope, "s"))
        """
    }

    static func sweepLag(of scope: Int64?) -> SQL {
        """
        SELECT now() - min(oldest.expires_at) FROM \(unescaped: CountedScopes.source)
        CROSS JOIN LATERAL (
            SELECT a.expires_at FROM activities a
            WHERE a.scope_id = \(sql: CountedScopes.id(scope, "s")) AND a.ended_at IS NULL AND a.expiry_recorded_at IS NULL
            ORDER BY a.expires_at LIMIT 1
        ) AS oldest
        WHERE \(sql: CountedScopes.isOf(scope, "s")) AND oldest.expires_at <= now()
        """
    }

    static func activeGuards(of scope: Int64?) -> SQL {
        """
        SELECT count(*) FROM quarantine_guards g
        WHERE g.tripped_at IS NOT NULL AND g.reported_at > now() - \(BurstGuard.window)
            AND \(sql: CountedScopes.isOf(scope, "g"))
        """
    }

    /// The last number given to an event.
    static let eventsWritten: SQL =
        "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('events', 'event_number')::regclass), 0)"
}
