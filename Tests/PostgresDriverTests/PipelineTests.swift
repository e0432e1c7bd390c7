import PostgresDriver
import Testing

@Suite struct PipelineTests {
    @Test(.pool(1)) func `All statements of a pipeline are one transaction`() async throws {
        try await pool.run("CREATE TABLE t (id int CONSTRAINT t_positive CHECK (id > 0))")
        let error = try await postgresError {
            try await pool.run(
                "INSERT INTO t VALUES (1)",
                "INSERT INTO t VALUES (2)",
                "INSERT INTO t VALUES (-3)",
                "INSERT INTO t VALUES (4)",
                "SELECT 1/0"
            )
        }
        #expect(error.code == .server)
        #expect(error.sqlState == "23514")
        #expect(error.constraint == "t_positive")
        #expect(error.table == "t")
        #expect(error.severity == "ERROR")
        #expect(!error.isSafeToRetry)
        #expect(try await pool.value(Int.self, "SELECT count(*) FROM t") == 0)
    }

    @Test func `Results have the order of the statements`() async throws {
        try await withSession { session in
            let results = try session.pipeline([
                "CREATE TABLE t (id int)", "INSERT INTO t SELECT generate_series(1, 5)",
                "UPDATE t SET id = 0 WHERE id > 3",
                "SELECT id, id::text FROM t ORDER BY t.id", "DELETE FROM t WHERE false", "",
            ])
            #expect(results.map(\.affectedRows) == [0, 5, 2, 5, 0, 0])
            #expect(results.map(\.count) == [0, 0, 0, 5, 0, 0])
            #expect(results[4].isEmpty)
            let rows = try results[3].decode(Int.self, String.self)
            #expect(rows.map(\.0) == [0, 0, 1, 2, 3])
            #expect(rows.map(\.1) == ["0", "0", "1", "2", "3"])
        }
    }

    @Test(.pool(1)) func `A failed commit is an error`() async throws {
        try await pool.run("CREATE TABLE t (id int CONSTRAINT t_unique UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        let error = try await postgresError {
            try await pool.run("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)", "SELECT 1")
        }
        #expect(error.sqlState == "23505")
        #expect(error.constraint == "t_unique")
        #expect(try await pool.value(Int.self, "SELECT count(*) FROM t") == 0)
        #expect(pool.statistics.connects == 1)
    }

    @Test func `Large pipelines do not deadlock`() async throws {
        try await withSession { session in
            let large = [UInt8](repeating: 7, count: 1 << 20)
            let statements = (0..<12).map { SQL("SELECT \(large) || \([UInt8($0)])") }
            let results = try session.pipeline(statements)
            for (index, result) in results.enumerated() {
                let bytes = try result[0].decode([UInt8].self)
                #expect(bytes.count == large.count + 1)
                #expect(bytes.last == UInt8(index))
            }
        }
    }

    @Test(.pool(1)) func `Too many parameters are refused, and the connection stays usable`() async throws {
        let values = [SQL](repeating: ", \(1)", count: 256).reduce("" as SQL) { "\(sql: $0)\(sql: $1)" }
        let statement = [SQL](repeating: values, count: 257).reduce("SELECT 0" as SQL) { "\(sql: $0)\(sql: $1)" }
        let error = try await postgresError { try await pool.run(statement) }
        #expect(error.code == .misuse)
        #expect(try await pool.value(Int.self, "SELECT 1") == 1)
        #expect(pool.statistics.connects == 1)
    }

    @Test(.pool(1)) func `COPY is refused, and the connection stays usable`() async throws {
        try await pool.run("CREATE TABLE t (id int)")
        for script in ["COPY t FROM STDIN", "COPY t TO STDOUT"] {
            let error = try await postgresError { try await pool.withSession { try $0.simple(script) } }
            #expect(error.code == .connectionLost)
            let piped = try await postgresError { try await pool.run(SQL(stringLiteral: script)) }
            #expect(piped.code == .connectionLost)
        }
        #expect(try await pool.value(Int.self, "SELECT 1") == 1)
    }

    @Test(.pool(1)) func `A script is one transaction, and pipelines work after it`() async throws {
        try await pool.withSession { session in
            let error = #expect(throws: PostgresError.self) {
                try session.simple("CREATE TABLE t (id int); INSERT INTO t VALUES (1); SELECT nothing")
            }
            #expect(error?.sqlState == "42703")
            try session.simple("CREATE TABLE t (id int); INSERT INTO t VALUES (1);")
            #expect(try session.execute("SELECT count(*) FROM t")[0].decode(Int.self) == 1)
        }
        #expect(pool.statistics.connects == 1)
    }

    @Test(.pool(1)) func `A BEGIN statement is refused, and the connection is dropped`() async throws {
        let error = try await postgresError { try await pool.run("BEGIN") }
        #expect(error.code == .misuse)
        try await pool.run("SELECT 1")
        #expect(pool.statistics.connects == 2)
    }
}
