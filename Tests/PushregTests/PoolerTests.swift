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
        #expect(try await Program.run(["migrate", "--database-url", connectionString]).status == 0)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pgbouncer-\(UUID()).ini")
        let settings = """
            [databases]
            d = \(connectionString)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = \(mode)
            """
        try Data(settings.utf8).write(to: file)
        // It refuses to run as root.
        let user = geteuid() == 0 ? ["-u", "postgres"] : []
        let pooler = try RunningProgram.start(Self.pgbouncer, user + [file.path])
        // The tests' process and its children block other signals.
        defer { pooler.send(SIGKILL) }
        #expect(await pooler.line(with: "process up") != nil, "\(pooler.text)")
        let address = "postgres://u@127.0.0.1:\(port)/d"
        let doctor = try await Program.run(["doctor", "--json", "--database-url", address])
        #expect(doctor.status == (isFine ? 0 : 1), "\(doctor.words)")
        #expect(doctor.results.contains(#""code":"transaction-pooler""#) != isFine, "\(doctor.results)")
        if isFine {
            let service = try await ServiceProcess.start(databaseURL: address)
            #expect(await service.stop() == 0)
        } else {
            let serve = try await Program.run(["serve", "--port", "0", "--database-url", address])
            #expect(serve.status == 69 && serve.words.contains("set pool_mode = session"), "\(serve.words)")
        }
        try FileManager.default.removeItem(at: file)
        await cluster.remove()
    }

    @Test(arguments: ["42P05", "26000"])
    func `Statements mixed up by a pooler are reported as its fault`(_ state: String) async throws {
        let database = try await TestDatabase.make()
        try await database.pool.withSession { session in
            try session.simple(
                """
                CREATE FUNCTION mix_up() RETURNS integer LANGUAGE plpgsql AS
                    $$ BEGIN RAISE 'mixed up' USING ERRCODE = '\(state)'; END $$;
                ALTER TABLE schema_migrations RENAME TO applied;
                CREATE VIEW schema_migrations AS SELECT mix_up() AS version, name, checksum, applied_at FROM applied;
                """
            )
        }
        let outcome = try await Program.run(["migrate", "status"] + database.flags)
        #expect(outcome.status == 69)
        #expect(outcome.words.contains("set pool_mode = session"), "\(outcome.words)")
        #expect(!outcome.words.contains("not available"))
    }
}
