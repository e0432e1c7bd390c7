import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport

/// Rows as many activities leave them, inserted faster than by requests.
enum QueryPlanFilling {
    /// Without names, ANALYZE would wait for the schemas of other tests.
    static let analysis = """
        ANALYZE activities, token_values, activity_aliases, installations, alias_identities, \
        installation_tokens, installation_aliases, channels, channel_quotas, start_leases
        """

    /// Two start tokens, a device token and an alias for each installation.
    private static func installationRows(_ scope: Scope) -> [SQL] {
        [
            """
            INSERT INTO installation_tokens (scope_id, installation_hash, kind, attributes_type,
                has_one_owner, token, token_digest, observed_at, claimed_at, confirmed_at)
            SELECT i.scope_id, i.installation_hash, kinds.name, kinds.type, kinds.suffix <> '',
                i.installation_hash || kinds.suffix, sha256(i.installation_hash || kinds.suffix), now(), now(), now()
            FROM installations i CROSS JOIN (
                VALUES ('start', 'Match', ''::bytea), ('start', 'Delivery', ''), ('device', '', '\\x01')
            ) AS kinds (name, type, suffix)
            ON CONFLICT DO NOTHING
            """,
            """
            INSERT INTO token_values (scope_id, token_digest, installation_kind, installation_hash,
                installation_observed_at)
            SELECT scope_id, token_digest, kind, installation_hash, observed_at
            FROM installation_tokens WHERE has_one_owner
            ON CONFLICT DO NOTHING
            """,
            """
            INSERT INTO installation_aliases (scope_id, kind, value, installation_hash)
            SELECT scope_id, 'orderId', (row_number() OVER () / 2)::text, installation_hash
            FROM installations
            ON CONFLICT DO NOTHING
            """,
            """
            INSERT INTO channels (scope_id, kind, value, channel_id, message_storage_policy)
            SELECT \(scope.id), 'orderId', n::text, 'channel-' || n, 0 FROM generate_series(1, 10000) AS n
            ON CONFLICT DO NOTHING
            """,
            """
            INSERT INTO start_leases (scope_id, installation_hash, kind, value, attributes_type, lease_id,
                leased_at, leased_until, attempted_at)
            SELECT scope_id, installation_hash, 'orderId', (row_number() OVER () / 2)::text, 'Delivery',
                substr(installation_hash, 1, 16), now(), now() + interval '1 hour', ARRAY[now()]
            FROM installations
            ON CONFLICT DO NOTHING
            """,
            """
            INSERT INTO channel_quotas (scope_id)
            SELECT scope_id FROM generate_series(1, 1000) AS scope_id
            ON CONFLICT DO NOTHING
            """,
        ]
    }

    /// Activities, three per installation; with users, ten per user.
    static func activityRows(_ scope: Scope, _ numbers: ClosedRange<Int>, haveUsers: Bool = false) -> SQL {
        """
        INSERT INTO activities (scope_id, activity_id, token, token_digest, token_observed_at,
            token_claimed_at, last_observed_at, started_at, expires_at, confirmed_at, installation_hash,
            aliases, aliases_observed_at, created_at, subject)
        SELECT \(scope.id), 'activity-' || n, int8send(n), sha256(int8send(n)), now(), now(), now(), now(),
            now() + interval '8 hours', now(), sha256(int8send(n / 3)),
            jsonb_build_object('orderId', jsonb_build_array((n / 2)::text)), now(), now(),
            CASE WHEN \(haveUsers) THEN 'user-' || n / 10 END
        FROM generate_series(\(Int64(numbers.lowerBound)), \(Int64(numbers.upperBound))) AS n
        """
    }

    /// Fills a schema with many activities, three per installation, and all related rows.
    ///
    /// - Parameters:
    ///   - first: the number of the first activity, above the numbers of existing activities.
    ///   - haveUsers: whether each activity and each installation belongs to a user.
    static func fill(
        _ database: TestDatabase,
        _ scope: Scope,
        from first: Int = 1,
        count: Int = 100_000,
        haveUsers: Bool = false,
        analyzes: Bool = true
    ) async throws {
        // Ten million activities take a quarter of an hour.
        try await database.pool.withSession(.never, timeout: .seconds(7200)) { session in
            try session.simple("SET statement_timeout = 0")
            _ = try session.pipeline([
                Self.activityRows(scope, first...count, haveUsers: haveUsers),
                """
                INSERT INTO token_values (scope_id, token_digest, activity_id, activity_key, observed_at)
                SELECT scope_id, token_digest, activity_id, activity_key, token_observed_at FROM activities
                ON CONFLICT DO NOTHING
                """,
                """
                INSERT INTO activity_aliases (scope_id, kind, value, ended, activity_key)
                SELECT scope_id, 'orderId', aliases -> 'orderId' ->> 0, false, activity_key
                FROM activities
                ON CONFLICT DO NOTHING
                """,
                """
                INSERT INTO installations (scope_id, installation_hash, subject)
                SELECT scope_id, installation_hash, min(subject) FROM activities
                GROUP BY scope_id, installation_hash
                ON CONFLICT DO NOTHING
                """,
                """
                INSERT INTO erasures (scope_id, erased_digest, erased_at)
                SELECT scope_id, sha256(token_digest), now() FROM activities WHERE activity_key <= 10000
                ON CONFLICT DO NOTHING
                """,
                """
                INSERT INTO alias_identities (scope_id, alias, owner, activity_id)
                SELECT scope_id, activity_id, 'app', activity_id FROM activities
                ON CONFLICT DO NOTHING
                """,
            ])
            _ = try session.pipeline(Self.installationRows(scope))
            if analyzes { try session.simple(Self.analysis) }
        }
    }
}
