import PostgresDriver
import TestSupport
import Testing

@Suite struct ErrorTests {
    static let leaks: [(SQL, String, mentions: String)] = [
        ("INSERT INTO t VALUES ('hunter2', 1), ('hunter2', 2)", "23505", "t_key"),
        ("INSERT INTO t VALUES ('hunter2', -1)", "23514", "t_positive"),
        ("INSERT INTO t VALUES ('hunter2', NULL)", "23502", "table t"),
        ("SELECT \("hunter2")::text::int", "22P02", "22P02"),
        ("SELECT \("hunter2")::text::jsonb", "22P02", "22P02"),
        ("DO $$ BEGIN RAISE 'about hunter2'; END $$", "P0001", "P0001"),
        ("DO $$ BEGIN RAISE EXCEPTION 'fine' USING DETAIL = 'hunter2', ERRCODE = '40001'; END $$", "40001", "fine"),
        ("SELECT count(*) FROM nowhere", "42P01", "relation \"nowhere\" does not exist"),
    ]

    @Test(arguments: leaks.indices)
    func `Server errors contain names of objects and no values`(_ index: Int) async throws {
        let (statement, sqlState, mention) = Self.leaks[index]
        try await withPool(1) { pool in
            try await pool.run(
                "CREATE TABLE t (name text CONSTRAINT t_key PRIMARY KEY, n int NOT NULL CONSTRAINT t_positive CHECK (n > 0))"
            )
            let error = try await postgresError { try await pool.withSession(.never) { _ = try $0.execute(statement) } }
            #expect(error.sqlState == sqlState)
            #expect("\(error)".contains(mention))
            #expect(!everything(of: error).contains("hunter2"))
        }
    }

    static let secretStrings = [
        "host=127.0.0.1 port=PORT user=postgres password=hunter2 dbname=nothere",
        "postgresql://postgres:hunter2@127.0.0.1:PORT/nothere",
        "postgresql://postgres:pa@hunter2@127.0.0.1:PORT/nothere",
        "postgresql://postgres:pa/hunter2@127.0.0.1:PORT/nothere",
        "postgresql://postgres:hunter2/word@127.0.0.1:PORT/nothere",
        "postgresql://postgres:hunter2%zz@127.0.0.1:PORT/nothere",
        "host=127.0.0.1 password=x hunter2",
        "host=127.0.0.1 password='hunter2",
        #"postgresql://postgres:a"hunter2%zz@127.0.0.1:PORT/nothere"#,
        #"host=127.0.0.1 password=x a"hunter2"#,
        "password=hunter2 host=127.0.0.1 port=1",
    ]

    @Test(arguments: secretStrings)
    func `Connect errors do not reveal the password`(_ string: String) async throws {
        let port = try await ThrowawayCluster.shared.port
        let connectionString = string.replacing("PORT", with: "\(port)")
        let configuration = PostgresConfiguration(connectionString: connectionString)
        #expect(!everything(of: configuration).contains("hunter2"))
        try await withPool(configuration: configuration) { pool in
            let error = try await postgresError { try await pool.run("SELECT 1") }
            #expect([.connectionFailed, .misuse].contains(error.code))
            #expect(!everything(of: error).contains("hunter2"))
            #expect(error.message?.isEmpty == false)
        }
    }

    private func everything(of value: some Any) -> String {
        var text = "\(value) \(String(reflecting: value))"
        dump(value, to: &text)
        return text
    }

    @Test func `Connect errors have the SQLSTATE`() async throws {
        let existing = try await ThrowawayCluster.shared.tcpString
        let connectionString = existing.replacing("dbname=postgres", with: "dbname=nothere")
        let configuration = PostgresConfiguration(connectionString: connectionString)
        try await withPool(configuration: configuration) { pool in
            let error = try await postgresError { try await pool.run("SELECT 1") }
            #expect(error.code == .connectionFailed)
            #expect(error.sqlState == "3D000")
            #expect(error.message?.contains("does not exist") == true)
            #expect(error.message?.contains("LOCATION") == false)
        }
    }

    @Test func `A connect that fails because of too many clients is safe to retry`() async throws {
        let cluster = try await ThrowawayCluster.start(settings: [
            "max_connections": "4", "superuser_reserved_connections": "0",
        ])
        try await withPool(4, on: cluster.tcpString) { holders in
            // The connection that pg_ctl used to test the server may still be open.
            let clients: SQL = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            try await until { try await holders.value(Int.self, clients) == 1 }
            var held: [HeldTransaction] = []
            for _ in 0..<4 { held.append(try await HeldTransaction("SELECT 1", in: holders)) }
            let configuration = PostgresConfiguration(connectionString: cluster.tcpString)
            let error = try await postgresError {
                try await withPool(configuration: configuration) { try await $0.run("SELECT 1") }
            }
            #expect((error.code, error.sqlState) == (.connectionFailed, "53300"))
            #expect(error.isSafeToRetry)
            for connection in held { try await connection.release() }
        }
    }

    @Test func `An error names its query`() async throws {
        let queries = try Query.parse(
            "-- name: t.one\nSELECT 1 AS one;\n-- name: t.fail\nSELECT 1 / 0 AS one;",
            subject: "t"
        )
        try await withSession { session in
            let failed = #expect(throws: PostgresError.self) { try session.pipeline(queries.map { $0() }) }
            #expect(failed?.description == "PostgresError.server, 22012, query t.fail")
            let misread = #expect(throws: PostgresError.self) {
                try session.run(queries[0]).decode { try $0["one"] as String }
            }
            #expect(misread?.query == "t.one")
        }
    }
}
