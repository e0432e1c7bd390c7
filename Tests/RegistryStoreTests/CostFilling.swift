import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport

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

    /// Running activities `bulk-…` of an installation, each with the sample token of its number, and with an alias if
    /// given.
    func addActivities(
        _ numbers: ClosedRange<Int>,
        of installation: InstallationHash? = nil,
        under alias: Alias? = nil,
        at time: Date,
        in scope: Scope
    ) async throws {
        let aliases = alias.map { try? AliasSet([$0]) }.flatMap(\.self).map { JSONB($0.canonicalJSON) }
        let isAdded: SQL = """
            a.scope_id = \(scope.id) AND a.activity_id = ANY(ARRAY(
                SELECT 'bulk-' || n FROM generate_series(\(Int64(numbers.lowerBound)), \(Int64(numbers.upperBound))) AS n
            ))
            """
        try await run(
            """
            INSERT INTO activities (scope_id, activity_id, token, token_digest, token_observed_at,
                token_claimed_at, last_observed_at, started_at, expires_at, confirmed_at, installation_hash,
                aliases, aliases_observed_at, created_at)
            SELECT \(scope.id), 'bulk-' || q.n, q.token, sha256(q.token), q.at, q.at,
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
            WHERE \(sql: isAdded) ON CONFLICT DO NOTHING
            """
        )
        guard let alias else { return }
        try await run(
            """
            INSERT INTO activity_aliases (scope_id, kind, value, ended, activity_key)
            SELECT scope_id, \(alias.kind), \(alias.value), false, activity_key FROM activities a
            WHERE \(sql: isAdded) ON CONFLICT DO NOTHING
            """
        )
    }

    func addValues(_ numbers: ClosedRange<Int>, of installation: InstallationHash, in scope: Scope) async throws {
        try await run(
            """
            INSERT INTO token_values (scope_id, token_digest, installation_kind, installation_hash,
                installation_observed_at)
            SELECT \(scope.id), sha256(int8send(n)), 'device', \(installation.bytes), now() - interval '1 day' + n * interval '1 second'
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
        let hashes: SQL = """
            SELECT \(scope.id)::bigint AS scope_id, sha256(int8send(n)) AS installation_hash
            FROM generate_series(\(Int64(numbers.lowerBound)), \(Int64(numbers.upperBound))) AS n
            """
        try await run("INSERT INTO installations (scope_id, installation_hash) SELECT * FROM (\(sql: hashes)) AS q")
        try await run(
            """
            INSERT INTO installation_aliases (scope_id, installation_hash, kind, value)
            SELECT q.*, \(alias.kind), \(alias.value) FROM (\(sql: hashes)) AS q
            """
        )
        guard let startToken else { return }
        try await run(
            """
            INSERT INTO installation_tokens (scope_id, installation_hash, kind, attributes_type,
                has_one_owner, token, token_digest, observed_at, claimed_at, confirmed_at)
            SELECT q.*, 'start', 'Match', false, \(startToken.bytes), sha256(\(startToken.bytes)), now(), now(), now()
            FROM (\(sql: hashes)) AS q
            """
        )
        try await run(
            """
            INSERT INTO token_values (scope_id, token_digest, start_observed_at)
            SELECT \(scope.id), sha256(\(startToken.bytes)), now() ON CONFLICT DO NOTHING
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
