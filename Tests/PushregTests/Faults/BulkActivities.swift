import PostgresDriver
import RegistryStore
import TestSupport

/// Activities as registrations would leave them, inserted by a few statements.
struct BulkActivities {
    let name: String
    let numbers: ClosedRange<Int64>
    let kind: String
    /// An expression in SQL for the alias of the activity `n`.
    let alias: String
    /// An expression in SQL for the time since the start of the activity `n`.
    var age = "interval '0'"

    func activities(in scope: Int64) -> SQL {
        """
        INSERT INTO activities (scope_id, activity_id, token, token_digest, token_observed_at,
            token_claimed_at, last_observed_at, started_at, expires_at, confirmed_at, aliases,
            aliases_observed_at, attributes_type, installation_hash, created_at)
        SELECT \(scope), \(name)::text || '-' || n, t.token, substr(sha256(t.token), 1, 15), t.at, t.at, t.at, t.at,
            t.at + interval '8 hours', t.at,
            jsonb_build_object(\(kind)::text, jsonb_build_array(\(unescaped: alias))), t.at, 'Delivery',
            sha256(int8send(n)), t.at
        FROM generate_series(\(numbers.lowerBound)::bigint, \(numbers.upperBound)::bigint) AS n
        CROSS JOIN LATERAL (
            SELECT int8send(n) || decode(repeat('ee', 72), 'hex') AS token,
                now() - \(unescaped: age) - n * interval '1 microsecond' AS at
        ) AS t
        """
    }

    func insert(into database: TestDatabase, _ scope: Scope) async throws {
        try await database.pool.withSession(.never, timeout: .seconds(600)) { session in
            try session.simple("SET statement_timeout = 0")
            _ = try session.pipeline([
                activities(in: scope.id),
                """
                INSERT INTO token_values (scope_id, token_digest, activity_id, activity_key, observed_at)
                SELECT scope_id, token_digest, activity_id, activity_key, token_observed_at FROM activities
                WHERE activity_id LIKE \(name)::text || '-%'
                """,
                """
                INSERT INTO activity_aliases (scope_id, kind, value, ended, activity_key)
                SELECT scope_id, \(kind)::text, aliases -> \(kind)::text ->> 0, false, activity_key FROM activities
                WHERE activity_id LIKE \(name)::text || '-%'
                """,
            ])
            try session.simple("ANALYZE")
        }
    }
}
