import Foundation
import PostgresDriver
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct PoolerTests {
    private static let pgbouncer = "/usr/sbin/pgbouncer"

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: pgbouncer), "there is no PgBouncer"),
        arguments: [("transaction", false), ("statement", false), ("session", true)]
    )
    func `The doctor finds the pooler that the service refuses`(_ mode: String, _ isFine: Bool) async throws {
        let (cluster, port) = (FaultCluster(), try FreePort.take())
        let connectionString = try await cluster.start()
        try await Program.run(["migrate", "--database-url", connectionString], gives: 0)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pgbouncer-\(UUID()).ini")
        let certificate = try await TestCertificate()
        // PgBouncer runs as another user.
        chmod(certificate.key, 0o644)
        let settings = """
            [databases]
            d = \(connectionString)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = \(mode)
            client_tls_sslmode = allow
            client_tls_key_file = \(certificate.key)
            client_tls_cert_file = \(certificate.certificate)
            """
        try Data(settings.utf8).write(to: file)
        // It refuses to run as root.
        let user = geteuid() == 0 ? ["-u", "postgres"] : []
        let pooler = try RunningProgram.start(Self.pgbouncer, user + [file.path])
        // The tests' process and its children block other signals.
        defer { pooler.send(SIGKILL) }
        #expect(await pooler.line(with: "process up") != nil, "\(pooler.text)")
        let address = "postgres://u@127.0.0.1:\(port)/d"
        let doctor = try await Program.run(["doctor", "--json", "--database-url", address], gives: isFine ? 0 : 1)
        #expect(doctor.results.contains(#""code":"transaction-pooler""#) != isFine, "\(doctor.results)")
        if isFine {
            let service = try await ServiceProcess.start(databaseURL: address)
            #expect(await service.stop() == 0)
            for (parameter, words) in [
                ("options=-csearch_path%3Dpublic", "The pooler refuses options of the connection string"),
                ("sslmode=verify-full", "The connection string needs sslrootcert"),
            ] { try await Program.run(["serve", "--database-url", "\(address)?\(parameter)"], gives: 64, words) }
        } else {
            let serve = ["serve", "--port", "0", "--database-url", address]
            try await Program.run(serve, gives: 69, "set pool_mode = session")
        }
        try FileManager.default.removeItem(at: file)
        await cluster.remove()
    }

    @Test(arguments: ["42P05", "26000"])
    func `Statements mixed up by a pooler are reported as its fault`(_ state: String) async throws {
        let database = try await TestDatabase.make()
        try await database.simple(
            """
            CREATE FUNCTION mix_up() RETURNS integer LANGUAGE plpgsql AS
                $$ BEGIN RAISE 'mixed up' USING ERRCODE = '\(state)'; END $$;
            ALTER TABLE schema_migrations RENAME TO applied;
            CREATE VIEW schema_migrations AS SELECT mix_up() AS version, name, checksum, applied_at FROM applied;
            """
        )
        let status = ["migrate", "status"] + database.flags
        let outcome = try await Program.run(status, gives: 69, "set pool_mode = session")
        #expect(!outcome.words.contains("not available"))
    }
}

@Suite(.timeLimit(.minutes(15))) struct RefusalTests {
    private static let role = "role_" + UUID().uuidString.replacing("-", with: "").lowercased()

    /// The last user may not read the tables.
    @Test(arguments: [
        ("user=nobody_of_ours", 77, "Postgres refuses: role \"…\" does not exist."),
        ("dbname=nowhere", 69, "Postgres is not available: database \"…\" does not exist."),
        ("user=\(role)", 77, "Postgres refuses: permission denied for table schema_migrations."),
    ])
    func `A refusal of Postgres is explained`(_ option: String, _ status: Int32, _ sentence: String) async throws {
        let database = try await TestDatabase.make()
        if option.contains(Self.role) {
            let schema = try await database.texts("SELECT current_schema()")[0]
            try await database.simple("CREATE ROLE \(Self.role) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(Self.role)")
        }
        // libpq uses the last value of a repeated keyword.
        let flags = ["--database-url", "\(database.connectionString) \(option)", "--unsafe-durability"]
        #expect(try await Program.run(["apps", "list"] + flags, gives: status).words == "pushreg: \(sentence)\n")
    }
}
