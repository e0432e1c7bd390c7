import HTTPTypes
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport

struct ConsolePlace {
    typealias Page = (name: String, path: String, words: String)

    let service: ServiceProcess
    let database: TestDatabase
    let key: String

    static func make(count: Int) async throws -> ConsolePlace {
        let database = try await TestDatabase.make(requestTimeout: .seconds(900))
        let scope = try await database.scope()
        _ = try await database.scope("com.example.taxi")
        try await ConsoleFilling(database: database, scope: scope, count: count).fill()
        let key = try await makeKeys(scope.app, database.registry)
        let service = try await ServiceProcess.start(
            database: ["--database-url", database.connectionString],
            arguments: ["--unsafe-durability", "--sweep-interval", "PT1H"],
            isInsecure: false
        )
        return ConsolePlace(service: service, database: database, key: key.text.revealed)
    }

    /// Creates keys in all states, and returns that of root.
    private static func makeKeys(_ app: App, _ registry: Registry) async throws -> APIKey {
        _ = try await registry.makeKey(.client, name: "iOS app 4.2", of: app)
        _ = try await registry.makeKey(.sender, name: "push gateway", of: app, expiresAt: .minutesAgo(-3 * 1440))
        _ = try await registry.makeKey(.auditor, name: "on call", of: app, expiresAt: .minutesAgo(60))
        let revoked = try await registry.makeKey(.admin, name: "before the move", of: app)
        _ = try await registry.revokeKey(revoked.id, ofApp: app.id, by: "test")
        return try await registry.makeKey(.root, name: "the console's tests", of: nil)
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(service.port)\(path)" }

    var pages: [Page] {
        let base = "/console/com.example.food/sandbox"
        return [
            ("apps", "/console", "com.example.taxi"),
            ("overview", base, "Live tokens"),
            ("overview-month", base + "?window=P30D", "Over time"),
            ("search", base + "/search?q=alias:order-42%20state:active", "life"),
            ("search-empty", base + "/search", "Search syntax"),
            ("search-events", base + "/search?q=event:dropped", "Audit trail"),
            ("activity", base + "/activities/life", "Timeline"),
            ("alias", base + "/aliases/liveactivityId/order-42", "Left out"),
            ("stale", base + "/stale", "By reason"),
            ("purge", base + "/stale/purge?kind=update&reason=quarantined", "Tokens to purge"),
            ("installations", base + "/installations", "Last seen"),
            ("installation", base + "/installations/" + ConsoleFilling.installation, "Audit trail"),
            ("channels", base + "/channels", "of 10,000"),
            ("keys", base + "/keys", "push gateway"),
            ("system", base + "/system", "Configuration"),
            ("problem", base + "/nowhere", "no-such-route"),
        ]
    }

    var auditCalls: [String] {
        let base = "/v1/apps/com.example.food/sandbox/"
        return [
            "stats", "stats?window=P30D", "audit/stale", "audit/stale?reason=unconfirmed&unconfirmedFor=PT2H",
            "audit/stale?reason=quarantined", "audit/stale?kind=start&limit=1000",
            "audit/events", "audit/events?limit=1000", "audit/events?type=dropped", "audit/events?type=purged",
            "audit/events?activityId=life", "audit/events?alias=liveactivityId:order-42", "audit/events?subject=u-7",
            "audit/explain?kind=liveactivityId&value=order-42", "audit/explain?kind=orderId&value=o-77",
            "audit/explain?kind=orderId&value=nothing",
        ].map { base + $0 }
    }

    /// Signs in.
    func cookie() async throws -> HTTPFields {
        let page = try await Reply.to(.get, "/console/sign-in", port: service.port)
        let form = page.text.firstMatch(of: /name="form" value="([0-9a-f]+)"/).map { String($0.1) } ?? ""
        let fields: HTTPFields = [.cookie: Self.pair(page), .contentType: "application/x-www-form-urlencoded"]
        let body = Array("key=\(key)&form=\(form)".utf8)
        return [.cookie: Self.pair(try await Reply.to(.post, "/console/sign-in", fields, body, port: service.port))]
    }

    private static func pair(_ reply: Reply) -> String {
        let cookies = reply.fields[values: .setCookie]
        return String((cookies.first { $0.hasPrefix("pushreg-console") } ?? cookies.first ?? "").prefix { $0 != ";" })
    }

    func time(of path: String, _ fields: HTTPFields) async throws -> Duration {
        let start = ContinuousClock.now
        let reply = try await Reply.to(.get, path, fields, port: service.port)
        guard reply.status == (path.hasSuffix("/nowhere") ? 404 : 200) else {
            throw ServiceFault(detail: "\(path): \(reply.status) \(reply.text.prefix(200))")
        }
        return ContinuousClock.now - start
    }
}

struct ConsoleFilling {
    let database: TestDatabase
    let scope: Scope
    let count: Int
    private static let phone = InstallationHash.sample(7)
    static let installation = phone.description

    /// Inserts rows as registrations would leave them, a few hundred thousand per second.
    ///
    /// A third of the activities are older than two hours, one in fifty has ended, and one in five hundred is quarantined.
    func fill() async throws {
        let (age, numbers) = ("(n % 181) * interval '1 minute'", 1...Int64(count))
        try await BulkActivities(name: "activity", numbers: numbers, kind: "orderId", alias: "'o-' || n / 3", age: age)
            .insert(into: database, scope)
        try await database.pool.withSession(.never, timeout: .seconds(900)) { [scope, count] session in
            try session.simple("SET statement_timeout = 0")
            for statement in Self.bulk(scope, count) { _ = try session.execute(statement).count }
            // Postgres needs statistics for tables that grew at once.
            try session.simple("ANALYZE activities, token_values, installations, installation_tokens, channels, events")
        }
        try await live()
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
                substr(sha256(t.token), 1, 15), m.at, m.at, m.at
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
        let device = TokenRegistration(token: .sample(31))
        _ = try await registry.register(device, in: .only(.device), of: Self.phone, in: scope, by: "prc_0aB1cD2eF3gH")
    }
}
