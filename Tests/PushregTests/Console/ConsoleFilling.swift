import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport

struct ConsoleFilling {
    let database: TestDatabase
    let scope: Scope
    let count: Int
    private static let phone = InstallationHash.sample(7)
    static let installation = phone.description

    func fill() async throws {
        try await fillInBulk()
        try await live()
        try await database.pool.withSession(.never, timeout: .seconds(900)) { session in
            try session.simple("SET statement_timeout = 0")
            // Postgres needs statistics for a table that grew at once.
            try session.simple("ANALYZE activities, token_values, activity_aliases, installations, installation_tokens")
            try session.simple("ANALYZE channels, events")
        }
    }

    /// Inserts rows as registrations would leave them, a few hundred thousand per second.
    private func fillInBulk() async throws {
        let (scope, count) = (scope, count)
        try await database.pool.withSession(.never, timeout: .seconds(900)) { session in
            try session.simple("SET statement_timeout = 0")
            for statement in Self.bulk(scope, count) { _ = try session.execute(statement).count }
        }
    }

    /// A token for each activity. A third are older than two hours, one in fifty has ended, and one in five hundred is
    /// quarantined.
    private static func bulk(_ scope: Scope, _ count: Int) -> [SQL] {
        [
            """
            INSERT INTO installations (scope_id, installation_hash, touched_at)
            SELECT \(scope.id), sha256(convert_to('phone ' || n, 'UTF8')), now() - n * interval '1 second'
            FROM generate_series(1, \(count / 4)) AS n
            """,
            """
            INSERT INTO activities (scope_id, activity_id, token, token_digest, token_observed_at,
                token_claimed_at, last_observed_at, started_at, expires_at, confirmed_at, ended_at, end_reason,
                installation_hash, attributes_type, aliases, aliases_observed_at, created_at,
                withheld)
            SELECT \(scope.id), 'activity-' || n, CASE WHEN n % 50 <> 0 THEN t.token END, sha256(t.token), m.at,
                m.at, m.at, m.at, m.at + interval '8 hours', m.at,
                CASE WHEN n % 50 = 0 THEN now() END, CASE WHEN n % 50 = 0 THEN 'ended'::end_reason END,
                sha256(convert_to('phone ' || (n % \(max(1, count / 4)) + 1), 'UTF8')), 'DeliveryAttributes',
                jsonb_build_object('orderId', jsonb_build_array('o-' || n / 3)), m.at, m.at,
                CASE WHEN n % 500 = 1 THEN 'quarantined' END
            FROM generate_series(1, \(count)) AS n
            CROSS JOIN LATERAL (SELECT convert_to('token ' || n, 'UTF8') AS token) AS t
            CROSS JOIN LATERAL (SELECT now() - (n % 181) * interval '1 minute' AS at) AS m
            """,
            """
            INSERT INTO token_values (scope_id, token_digest, activity_id, activity_key, observed_at,
                quarantined_at, quarantined_kind, quarantine_reason)
            SELECT a.scope_id, a.token_digest, a.activity_id, a.activity_key, a.token_observed_at,
                CASE WHEN a.activity_key % 500 = 1 THEN now() END,
                CASE WHEN a.activity_key % 500 = 1 THEN 'update' END,
                CASE WHEN a.activity_key % 500 = 1 THEN 'BadDeviceToken' END
            FROM activities a
            """,
            """
            INSERT INTO activity_aliases (scope_id, kind, value, ended, activity_key)
            SELECT a.scope_id, 'orderId', a.aliases #>> '{orderId,0}', a.ended_at IS NOT NULL, a.activity_key
            FROM activities a
            """,
            """
            INSERT INTO installation_tokens (scope_id, installation_hash, kind, attributes_type,
                has_one_owner, token, token_digest, observed_at, claimed_at, confirmed_at)
            SELECT \(scope.id), sha256(convert_to('phone ' || n, 'UTF8')), 'start', 'DeliveryAttributes', false, t.token,
                sha256(t.token), m.at, m.at, m.at
            FROM generate_series(1, \(count / 4)) AS n
            CROSS JOIN LATERAL (SELECT convert_to('start ' || n, 'UTF8') AS token) AS t
            CROSS JOIN LATERAL (SELECT now() - (n % 96) * interval '1 hour' AS at) AS m
            """,
            """
            INSERT INTO events (scope_id, drop_on, recorded_at, type, who, activity_id, installation_hash, aliases,
                token_fingerprint)
            SELECT a.scope_id, current_date + 90,
                now() - (a.activity_key % 9973) * interval '4 minutes' * (1 + sin(a.activity_key % 211) / 2),
                CASE WHEN a.activity_key % 37 = 0 THEN 'dropped' WHEN a.activity_key % 53 = 0 THEN 'taken-over'
                    WHEN a.activity_key % 3 = 0 THEN 'rotated' WHEN a.activity_key % 7 = 0 THEN 'ended'
                    WHEN a.activity_key % 11 = 0 THEN 'expired' ELSE 'registered' END,
                'prc_0aB1cD2eF3gH', a.activity_id, a.installation_hash, a.aliases, substr(a.token_digest, 1, 4)
            FROM activities a
            """,
            """
            INSERT INTO counts (scope_id, counted_at, is_estimated, ages)
            SELECT \(scope.id), t.at, false, jsonb_object_agg(k.kind, jsonb_build_object('current',
                jsonb_build_array(k.count::bigint, 0, 0, 0, 0, 0, 0, 0, 0)))
            FROM (
                SELECT date_bin('5 minutes', now(), '2020-01-01') - n * interval '5 minutes' AS at
                FROM generate_series(1, 31 * 288) AS n WHERE n < 300 OR n % 12 = 0
            ) AS t
            CROSS JOIN LATERAL (SELECT \(Double(count)) * (0.6 + 0.4 * sin(extract(epoch FROM t.at) / 14000)) AS share) AS a
            CROSS JOIN LATERAL (VALUES ('update', a.share), ('start', \(Double(count) / 4)), ('device', a.share / 3)) AS k (kind, count)
            GROUP BY t.at
            """,
            """
            INSERT INTO channels (scope_id, kind, value, channel_id, message_storage_policy)
            SELECT \(scope.id), 'matchId', 'm-' || n, encode(convert_to('channel ' || n, 'UTF8'), 'base64'), n % 2
            FROM generate_series(1, 60) AS n
            """,
        ]
    }

    /// An activity with all possible events, and others with its alias.
    private func live() async throws {
        let (registry, alias) = (database.registry, Alias.sample("liveactivityId", "order-42"))
        func register(_ id: String, _ token: Int, _ minutes: Double, on phone: InstallationHash = Self.phone)
            async throws
        {
            var registration = ActivityRegistration.sample(
                token: .sample(token),
                observedAt: .minutesAgo(minutes),
                startedAt: .minutesAgo(100),
                installation: phone,
                aliases: [alias, .sample("userId", "u-7")],
                attributesType: "DeliveryAttributes"
            )
            registration.subject = "u-7"
            _ = try await registry.register(registration, as: .sample(id), in: scope, by: "prc_0aB1cD2eF3gH")
        }
        func report(_ token: Int, _ status: Int, _ reason: String) async throws {
            let report = FeedbackReport(token: .sample(token), status: status, reason: reason)
            _ = try await registry.apply([report], in: scope, by: "prs_0aB1cD2eF3gH")
        }
        try await register("life", 1, 90)
        try await register("life", 2, 60)
        try await report(2, 410, "Unregistered")
        try await register("life", 3, -1)
        try await report(3, 200, "")
        for (index, name) in ["ended", "dropped", "stolen", "thief"].enumerated() {
            try await register(name, 10 + index, 50, on: .sample(20 + index))
        }
        try await registry.end(.sample("ended"), reason: .dismissed, observedAt: nil, in: scope, by: "prc_0aB1cD2eF3gH")
        try await report(11, 410, "Unregistered")
        try await register("thief", 12, 2, on: .sample(23))
        _ = try await registry.register(
            TokenRegistration(token: .sample(31)),
            in: .only(.device),
            of: Self.phone,
            in: scope,
            by: "prc_0aB1cD2eF3gH"
        )
    }
}
