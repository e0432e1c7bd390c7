import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// Causes each finding of `pushreg doctor`, after a run without that finding.
@Suite(.timeLimit(.minutes(15))) struct DoctorTests {
    private static func findings(
        _ connectionString: String,
        _ flags: [String] = []
    ) async throws -> (status: Int32, all: [String: String]) {
        let outcome = try await Program.run(["doctor", "--json", "--database-url", connectionString] + flags)
        let pairs = try outcome.results.split(separator: "\n").map { line in
            let json = try JSONParser.parse(String(line))
            guard case .string(let code) = json["code"], case .string(let detail) = json["detail"],
                case .string(let remedy) = json["remedy"], !remedy.isEmpty
            else { throw ServiceFault(detail: "not a finding: \(line)") }
            return (code, detail)
        }
        #expect(outcome.status != 0 || pairs.isEmpty)
        #expect(pairs.isEmpty || outcome.words.contains("wrong with this installation"), "\(outcome.words)")
        return (outcome.status, Dictionary(pairs) { "\($0) \($1)" })
    }

    private static func expect(
        _ code: String,
        _ detail: String,
        on connectionString: String,
        after change: () async throws -> Void
    ) async throws {
        #expect(try await findings(connectionString).all[code] == nil)
        try await change()
        let found = try await findings(connectionString)
        #expect(found.status == 1)
        #expect(found.all[code]?.contains(detail) == true, "\(found.all)")
    }

    @Test func `A healthy installation has no findings`() async throws {
        let cluster = FaultCluster()
        let connectionString = try await cluster.start()
        let flags = ["--database-url", connectionString]
        try await Program.run(["migrate"] + flags, gives: 0)
        try await Program.run(["apps", "create", "com.example.food"] + flags, gives: 0)
        let healthy = try await Program.run(["doctor"] + flags, gives: 0)
        #expect(healthy.results == "")
        #expect(healthy.words == "Nothing is wrong with this installation.\n")
        await cluster.stop()
        let stopped = try await Program.run(["doctor"] + flags, gives: 69)
        #expect(stopped.results.hasPrefix("Postgres is not available: "), "\(stopped.results)")
        #expect(stopped.results.contains("Start it"))
        await cluster.remove()
    }

    @Test func `An unreachable identity provider is found, also without a database`() async throws {
        try await TestProvider.run { provider in
            let flags = [
                "doctor", "--embedded", "/nowhere/at-all", "--oidc-issuer", provider.issuer,
                "--oidc-client-id", "console", "--oidc-client-secret", TestProvider.clientSecret, "--oidc-roles",
                "admin:com.example.food=all",
                "--public-url", "https://push.example.com",
            ]
            #expect(try await !Program.run(flags).results.contains("nobody signs in"))
            provider.change { $0.document = ["issuer": "https://other.example"] }
            let outcome = try await Program.run(flags)
            #expect(outcome.results.contains("states another issuer"), "\(outcome.results)")
            #expect(outcome.results.contains("Set --oidc-issuer to the provider's issuer"))
        }
    }

    @Test func `A directory without a database is not changed`() async throws {
        let outcome = try await Program.run(["doctor", "--embedded", "/nowhere/at-all"], gives: 69)
        #expect(outcome.results.contains("/nowhere/at-all has no database"))
        #expect(!FileManager.default.fileExists(atPath: "/nowhere"))
    }

    @Test func `A user refused by Postgres is reported with the reason`() async throws {
        let database = try await TestDatabase.make()
        let found = try await Self.findings(database.connectionString + " user=nobody_of_ours password=hunter2")
        #expect(found.status == 77)
        #expect(found.all["postgres-unavailable"]?.hasPrefix("Postgres refuses: ") == true, "\(found.all)")
    }

    @Test func `Settings that may lose writes are found`() async throws {
        let cluster = FaultCluster(settings: ["fsync": "off", "full_page_writes": "off", "synchronous_commit": "local"])
        let found = try await Self.findings(cluster.start()).all["unsafe-durability"] ?? ""
        for setting in ["fsync = off", "full_page_writes = off", "synchronous_commit = local"] {
            #expect(found.contains(setting), "\(found)")
        }
        await cluster.remove()
    }

    @Test func `Disabled or delayed autovacuum is found`() async throws {
        let cluster = FaultCluster(settings: ["autovacuum": "off"])
        let connectionString = try await cluster.start()
        try await Self.expect("autovacuum-behind", "installations (11000)", on: connectionString) {
            try await Program.run(["migrate", "--database-url", connectionString], gives: 0)
            // Postgres publishes a session's counts when it ends.
            try await TestDatabase.run(
                """
                INSERT INTO installations (scope_id, installation_hash)
                SELECT 1, int8send(n) FROM generate_series(1::bigint, 11000) AS n;
                UPDATE installations SET touched_at = now();
                """,
                on: connectionString
            )
        }
        #expect(try await Self.findings(connectionString).all["autovacuum-off"] != nil)
        await cluster.remove()
    }

    @Test func `Connections near their limit are found`() async throws {
        let cluster = FaultCluster(settings: ["max_connections": "13", "autovacuum": "off"])
        let connectionString = try await cluster.start()
        for (held, detail) in [(6, nil), (7, "8 of the 10 connections")] {
            // The doctor itself uses one more connection.
            try await Self.holding(held, on: connectionString) {
                let found = try await Self.findings(connectionString).all["connections-near-limit"]
                #expect(found?.prefix(23) == detail?.prefix(23))
            }
        }
        await cluster.remove()
    }

    @Test func `On Citus, local tables and unreachable workers are found`() async throws {
        guard try await CitusCluster.isAvailable else {
            print("left out: this Postgres has no extension citus")
            return
        }
        let database = try await TestDatabase.make(isAlone: true, on: CitusCluster.shared)
        _ = try await database.scope()
        try await Self.expect("tables-not-distributed", "channels", on: database.connectionString) {
            try await database.simple("SELECT undistribute_table('channels')")
        }
        try await Program.run(
            ["migrate", "--distribute"] + database.flags,
            gives: 0,
            "Distributed the table channels."
        )
        #expect(try await Self.findings(database.connectionString).all["tables-not-distributed"] == nil)
        try await Self.expect("worker-unreachable", "w2", on: database.connectionString) {
            try await database.simple("UPDATE pg_dist_node SET nodeport = 1 WHERE nodename LIKE '%w2%'")
        }
    }

    @Test func `An outdated, newer or changed schema is found`() async throws {
        let database = try await TestDatabase.make()
        let current = SchemaMigrator.currentVersion
        try await Self.expect("schema-changed", "differs from this program's", on: database.connectionString) {
            try await database.simple("UPDATE schema_migrations SET checksum = 'x' WHERE version = 1")
        }
        try await Self.expect("schema-ahead", "newer than this program's \(current)", on: database.connectionString) {
            try await database.simple("UPDATE schema_migrations SET version = 99 WHERE version = 1")
        }
        try await Self.expect("schema-behind", "at version \(current - 1)", on: database.connectionString) {
            try await database.simple("DELETE FROM schema_migrations WHERE version = \(current) OR version = 99")
        }
    }

    /// Postgres 15 and later do not let every user create tables in the schema public.
    @Test func `A user without the right to create tables is reported with the missing right`() async throws {
        let database = try await TestDatabase.make()
        let role = "role_" + UUID().uuidString.replacing("-", with: "").lowercased()
        try await database.simple("CREATE ROLE \(role) LOGIN")
        let options = " user=\(role) options='-csearch_path=public'"
        let found = try await Self.findings(database.connectionString + options)
        let right = found.all["schema-not-permitted"] ?? ""
        #expect(right.contains("\(role) may not create tables in the schema public"), "\(found.all)")
        #expect(found.all["schema-behind"] != nil)
        #expect(found.status == 1)
        let migrate = ["migrate", "--unsafe-durability", "--database-url", database.connectionString + options]
        try await Program.run(migrate, gives: 77, "GRANT USAGE, CREATE ON SCHEMA public")
        let nowhere = database.connectionString + " user=\(role) options='-csearch_path=nowhere'"
        let none = try await Self.findings(nowhere).all["schema-not-permitted"] ?? ""
        #expect(none.contains("may not use any schema in search_path"), "\(none)")
    }

    @Test func `A database of another encoding is refused before its first table`() async throws {
        let database = try await TestDatabase.make()
        let name = "latin_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
        try await database.simple(
            "CREATE DATABASE \(name) ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        )
        let latin = database.connectionString + " dbname=\(name)"
        for command in ["migrate", "serve"] {
            try await Program.run([command, "--unsafe-durability", "--database-url", latin], gives: 69, "LATIN1")
        }
        let found = try await Self.findings(latin).all
        #expect(found["database-encoding"]?.contains("LATIN1") == true, "\(found)")
        #expect(found["schema-behind"] == nil)
    }

    private static let clock = "clock_timestamp() RETURNS timestamptz"

    /// These functions hide Postgres's own and imitate another server.
    @Test(arguments: [
        ("clock-skew", "40 seconds ahead", clock, "SELECT pg_catalog.clock_timestamp() + interval '40 seconds'"),
        ("clock-skew", "3 seconds behind", clock, "SELECT pg_catalog.clock_timestamp() - interval '3 seconds'"),
        (
            "postgres-version", "needs 15 or later", "current_setting(name text) RETURNS text",
            "SELECT CASE name WHEN 'server_version_num' THEN '140017' ELSE pg_catalog.current_setting(name) END"
        ),
    ])
    func `An unsupported server is found`(_ code: String, _ detail: String, _ signature: String, _ body: String)
        async throws
    {
        let database = try await TestDatabase.make()
        let schema = try await Self.schema(of: database)
        let path = database.connectionString + " options='-csearch_path=\(schema),pg_catalog'"
        try await Self.expect(code, detail, on: path) {
            try await database.simple("CREATE FUNCTION \(schema).\(signature) LANGUAGE sql AS $$\(body)$$")
        }
    }

    @Test func `A standby is found`() async throws {
        let (database, _) = try await TestDatabase.withScope()
        #expect(try await Self.findings(database.connectionString).all["postgres-read-only"] == nil)
        let schema = try await Self.schema(of: database)
        let options = " options='-csearch_path=\(schema) -cdefault_transaction_read_only=on'"
        #expect(try await Self.findings(database.connectionString + options).all["postgres-read-only"] != nil)
        // Findings stay if a later query fails.
        let lock = try await HeldTransaction("LOCK TABLE activities", in: database)
        let found = try await Self.findings(database.connectionString + options)
        try await lock.release()
        #expect(found.status == 69 && found.all["postgres-read-only"] != nil, "\(found.all)")
    }

    @Test func `A delayed sweep is found`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        let detail = "1 activity of com.example.food in sandbox expired up to PT"
        try await Self.expect("sweep-behind", detail, on: database.connectionString) {
            try await database.registry.registerSample("a", token: 1, in: scope)
            try await database.simple(
                """
                UPDATE activities SET started_at = earlier(started_at, '8 hours 15 minutes'),
                    expires_at = earlier(expires_at, '8 hours 15 minutes')
                """
            )
        }
        // With a sweep interval of two minutes, a delay of fifteen minutes is not late.
        let patient = try await Self.findings(database.connectionString, ["--sweep-interval", "PT2M"])
        #expect(patient.all["sweep-behind"] == nil)
        _ = try await database.registry.sweep(.expiry, limit: 10, in: scope)
        #expect(try await Self.findings(database.connectionString).all["sweep-behind"] == nil)
    }

    @Test func `An active burst guard is found`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        for number in 1...5 {
            try await database.registry.registerSample("a\(number)", token: number, minutesAgo: 5, in: scope)
        }
        let detail = "Many update tokens of com.example.food in sandbox"
        try await Self.expect("burst-guard", detail, on: database.connectionString) {
            let reports = (1...5).map { FeedbackReport(token: .sample($0), status: 400, reason: "BadDeviceToken") }
            _ = try await database.registry.apply(reports, in: scope, by: "sender")
        }
    }

    @Test func `Keys about to expire are found`() async throws {
        let (database, _) = try await TestDatabase.withScope()
        func make(_ role: String, _ time: String) async throws -> String {
            let create = ["keys", "create", "--app", "com.example.food", "--role", role, "--expires-in", time]
            return String(try await Program.run(create + database.flags).results.prefix(16))
        }
        let (later, revoked) = (try await make("auditor", "P15D"), try await make("admin", "P1D"))
        try await Program.run(["keys", "revoke", revoked] + database.flags, gives: 0)
        var soon = ""
        try await Self.expect("key-expiring", "sender key", on: database.connectionString) {
            soon = try await make("sender", "P13D")
        }
        let found = try await Self.findings(database.connectionString).all["key-expiring"] ?? ""
        #expect(found.contains(soon) && !found.contains(later) && !found.contains(revoked), "\(found)")
    }

    @Test(arguments: [
        (["--host", "0.0.0.0"], true), (["--host", "192.0.2.1"], true), (["--host", "127.0.0.1"], false),
        (["--host", "0.0.0.0", "--tls-cert", "/c.pem", "--tls-key", "/k.pem"], false),
        (["--host", "0.0.0.0", "--trusted-proxies", "10.0.0.0/8"], false),
    ])
    func `A public address without TLS is found`(_ flags: [String], _ isFound: Bool) async throws {
        let found = try await Self.findings("host=/nowhere", flags)
        #expect((found.all["no-tls"] != nil) == isFound)
        #expect(found.status == 69)
        #expect(found.all["postgres-unavailable"] != nil)
    }

    private static func schema(of database: TestDatabase) async throws -> String {
        try await database.texts("SELECT current_schema()::text")[0]
    }

    private static func holding(
        _ count: Int,
        on connectionString: String,
        _ body: () async throws -> Void
    ) async throws {
        var pools: [PostgresPool] = []
        for _ in 0..<count {
            let pool = PostgresPool(configuration: PostgresConfiguration(connectionString: connectionString))
            _ = try await pool.withSession { try $0.execute("SELECT 1").count }
            pools.append(pool)
        }
        try await body()
        for pool in pools { await pool.shutdown() }
    }
}
