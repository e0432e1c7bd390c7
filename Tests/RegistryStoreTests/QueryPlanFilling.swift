import Foundation
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
                i.installation_hash || kinds.suffix, substr(sha256(i.installation_hash || kinds.suffix), 1, 15),
                now(), now(), now()
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

    /// Two events per activity; one in a hundred has a rare type.
    static let events: SQL = """
        INSERT INTO events (scope_id, drop_on, recorded_at, type, who, activity_id, installation_hash, subject,
            aliases, token_fingerprint)
        SELECT a.scope_id, current_date + 90, now() - (kinds.n * interval '1 hour'),
            CASE WHEN kinds.n = 1 THEN 'registered' WHEN a.activity_key % 100 = 0 THEN 'dropped' ELSE 'rotated' END,
            'test', a.activity_id, a.installation_hash, 'user-' || a.activity_key / 10, a.aliases,
            substr(a.token_digest, 1, 4)
        FROM (VALUES (1), (2)) AS kinds (n) CROSS JOIN activities a
        """

    /// Activities, three per installation; with users, ten per user.
    static func activityRows(_ scope: Scope, _ numbers: ClosedRange<Int>, haveUsers: Bool = false) -> SQL {
        """
        INSERT INTO activities (scope_id, activity_id, token, token_digest, token_observed_at,
            token_claimed_at, last_observed_at, started_at, expires_at, confirmed_at, installation_hash,
            aliases, aliases_observed_at, created_at, subject)
        SELECT \(scope.id), 'activity-' || n, int8send(n), substr(sha256(int8send(n)), 1, 15), now(), now(), now(), now(),
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

/// Rows as requests leave them, inserted faster.
extension TestDatabase {
    /// From now on, Postgres does not analyze or vacuum any table.
    func switchOffAutovacuum() async throws {
        try await script(
            """
            DO $$ DECLARE name regclass; BEGIN
                FOR name IN SELECT c.oid FROM pg_class c
                    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' LOOP
                    EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', name);
                END LOOP;
            END $$
            """
        )
    }

    /// Running activities `bulk-…` of an installation, each with the sample token of its number, and with an alias if given.
    func addActivities(
        _ numbers: ClosedRange<Int>,
        of installation: InstallationHash? = nil,
        under alias: Alias? = nil,
        at time: Date,
        in scope: Scope
    ) async throws {
        let aliases = alias.map { try? AliasSet([$0]) }.flatMap(\.self).map { JSONB($0.canonicalJSON) }
        let isAdded = """
            a.scope_id = \(scope.id) AND a.activity_id = ANY(ARRAY(
                SELECT 'bulk-' || n FROM generate_series(\(numbers.lowerBound), \(numbers.upperBound)) AS n
            ))
            """
        try await run(
            """
            INSERT INTO activities (scope_id, activity_id, token, token_digest, token_observed_at,
                token_claimed_at, last_observed_at, started_at, expires_at, confirmed_at, installation_hash,
                aliases, aliases_observed_at, created_at)
            SELECT \(scope.id), 'bulk-' || q.n, q.token, substr(sha256(q.token), 1, 15), q.at, q.at,
                q.at, q.at, q.at + interval '8 hours', q.at, \(installation?.bytes), \(aliases),
                CASE WHEN \(aliases) IS NOT NULL THEN q.at END, q.at
            FROM (
                SELECT n, int8send(n) || decode(repeat('ab', 72), 'hex') AS token, \(time)::timestamptz AS at
                FROM generate_series(\(Int64(numbers.lowerBound)), \(Int64(numbers.upperBound))) AS n
            ) AS q
            """
        )
        try await run(
            """
            INSERT INTO token_values (scope_id, token_digest, activity_id, activity_key, observed_at)
            SELECT scope_id, token_digest, activity_id, activity_key, token_observed_at FROM activities a
            WHERE \(unescaped: isAdded) ON CONFLICT DO NOTHING
            """
        )
        guard let alias else { return }
        try await run(
            """
            INSERT INTO activity_aliases (scope_id, kind, value, ended, activity_key)
            SELECT scope_id, \(alias.kind), \(alias.value), false, activity_key FROM activities a
            WHERE \(unescaped: isAdded) ON CONFLICT DO NOTHING
            """
        )
    }

    func addValues(_ numbers: ClosedRange<Int>, of installation: InstallationHash, in scope: Scope) async throws {
        try await run(
            """
            INSERT INTO token_values (scope_id, token_digest, installation_kind, installation_hash,
                installation_observed_at)
            SELECT \(scope.id), substr(sha256(int8send(n)), 1, 15), 'device', \(installation.bytes), now() - interval '1 day' + n * interval '1 second'
            FROM generate_series(\(Int64(numbers.lowerBound)), \(Int64(numbers.upperBound))) AS n
            """
        )
    }

    /// Installations with an alias, each with the given start token, if any.
    func addInstallations(
        _ numbers: ClosedRange<Int>,
        under alias: Alias,
        startToken: PushToken?,
        in scope: Scope
    ) async throws {
        let hashes = """
            SELECT \(scope.id)::bigint AS scope_id, sha256(int8send(n)) AS installation_hash
            FROM generate_series(\(numbers.lowerBound), \(numbers.upperBound)) AS n
            """
        try await run("INSERT INTO installations (scope_id, installation_hash) \(unescaped: hashes)")
        try await run(
            """
            INSERT INTO installation_aliases (scope_id, installation_hash, kind, value)
            SELECT q.*, \(alias.kind), \(alias.value) FROM (\(unescaped: hashes)) AS q
            """
        )
        guard let startToken else { return }
        try await run(
            """
            INSERT INTO installation_tokens (scope_id, installation_hash, kind, attributes_type,
                has_one_owner, token, token_digest, observed_at, claimed_at, confirmed_at)
            SELECT q.*, 'start', 'Match', false, \(startToken.bytes),
                substr(sha256(\(startToken.bytes)), 1, 15), now(), now(), now()
            FROM (\(unescaped: hashes)) AS q
            """
        )
        try await run(
            """
            INSERT INTO token_values (scope_id, token_digest, start_observed_at)
            SELECT \(scope.id), substr(sha256(\(startToken.bytes)), 1, 15), now() ON CONFLICT DO NOTHING
            """
        )
    }

    func addEvents(_ count: Int, of installation: InstallationHash, under alias: Alias, in scope: Scope) async throws {
        try await run(
            """
            INSERT INTO events (scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases)
            SELECT \(scope.id), current_date + 90, 'taken-over', 'test', 'activity', \(installation.bytes), 'u-7',
                jsonb_build_object(\(alias.kind)::text, jsonb_build_array(\(alias.value)::text))
            FROM generate_series(1, \(count)) AS n
            """
        )
    }
}
