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
    ///
    /// A third of the activities are older than two hours, one in fifty has ended, and one in five hundred is
    /// quarantined.
    private func fillInBulk() async throws {
        let (age, numbers) = ("(n % 181) * interval '1 minute'", 1...Int64(count))
        try await BulkActivities(name: "activity", numbers: numbers, kind: "orderId", alias: "'o-' || n / 3", age: age)
            .insert(into: database, scope)
        let (scope, count) = (scope, count)
        try await database.pool.withSession(.never, timeout: .seconds(900)) { session in
            try session.simple("SET statement_timeout = 0")
            for statement in Self.bulk(scope, count) { _ = try session.execute(statement).count }
        }
    }

    private static func bulk(_ scope: Scope, _ count: Int) -> [SQL] {
        [
            """
            UPDATE activities SET token = CASE WHEN activity_key % 50 <> 0 THEN token END,
                ended_at = CASE WHEN activity_key % 50 = 0 THEN now() END,
                end_reason = CASE WHEN activity_key % 50 = 0 THEN 'ended'::end_reason END,
                withheld = CASE WHEN activity_key % 500 = 1 THEN 'quarantined' END
            WHERE activity_key % 50 = 0 OR activity_key % 500 = 1
            """,
            "UPDATE activity_aliases SET ended = true WHERE activity_key % 50 = 0",
            """
            UPDATE token_values
            SET quarantined_at = now(), quarantined_kind = 'update', quarantine_reason = 'BadDeviceToken'
            WHERE activity_key % 500 = 1
            """,
            """
            INSERT INTO installations (scope_id, installation_hash, touched_at)
            SELECT \(scope.id), sha256(int8send(n)), now() - n * interval '1 second'
            FROM generate_series(1, \(count / 4)::bigint) AS n
            """,
            """
            INSERT INTO installation_tokens (scope_id, installation_hash, kind, attributes_type,
                has_one_owner, token, token_digest, observed_at, claimed_at, confirmed_at)
            SELECT \(scope.id), sha256(int8send(n)), 'start', 'DeliveryAttributes', false, t.token,
                sha256(t.token), m.at, m.at, m.at
            FROM generate_series(1, \(count / 4)::bigint) AS n
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
