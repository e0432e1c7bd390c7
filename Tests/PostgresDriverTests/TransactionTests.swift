import PostgresDriver
import Testing

@Suite(.pool(2)) struct TransactionTests {
    struct Refusal: Error {}

    init() async throws { try await pool.run("CREATE TABLE t (id int CONSTRAINT t_key PRIMARY KEY)") }

    private func rows() async throws -> Int { try await pool.value(Int.self, "SELECT count(*) FROM t") }

    @Test func `A transaction commits when the body returns`() async throws {
        let seen = try await pool.transact { transaction in
            _ = try transaction.execute("INSERT INTO t VALUES (1)")
            return try transaction.execute("SELECT count(*) FROM t")[0].decode(Int.self)
        }
        #expect(seen == 1)
        #expect(try await rows() == 1)
        #expect(pool.statistics.connects == 1)
    }

    @Test func `A transaction rolls back when the body throws`() async throws {
        await #expect(throws: Refusal.self) {
            try await pool.transact { transaction in
                _ = try transaction.execute("INSERT INTO t VALUES (1)")
                throw Refusal()
            }
        }
        #expect(try await rows() == 0)
        #expect(pool.statistics.connects == 1)
    }

    @Test func `The commit is sent with the last statements`() async throws {
        try await pool.transact { transaction in
            _ = try transaction.execute("INSERT INTO t VALUES (1)")
            let results = try transaction.pipeline(["INSERT INTO t VALUES (2)", "SELECT 7"], finishing: true)
            #expect(results.count == 2)
            #expect(try results[1][0].decode(Int.self) == 7)
            let error = #expect(throws: PostgresError.self) { try transaction.execute("SELECT 1") }
            #expect(error?.code == .misuse)
        }
        #expect(try await rows() == 2)
    }

    @Test(arguments: [false, true]) func `A swallowed failure does not commit`(_ isFirst: Bool) async throws {
        try await pool.run("INSERT INTO t VALUES (0)")
        let error = try await postgresError {
            try await pool.transact { transaction in
                if !isFirst { _ = try transaction.execute("INSERT INTO t VALUES (1)") }
                _ = try? transaction.execute("INSERT INTO t VALUES (0)")
            }
        }
        #expect(error.constraint == "t_key")
        #expect(try await rows() == 1)
    }

    @Test func `A failure in the last round trip rolls back`() async throws {
        let error = try await postgresError {
            try await pool.transact { transaction in
                _ = try transaction.pipeline(["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)"], finishing: true)
            }
        }
        #expect(error.constraint == "t_key")
        #expect(try await rows() == 0)
        #expect(pool.statistics.connects == 1)
    }

    @Test func `Scripts run inside a transaction`() async throws {
        await #expect(throws: Refusal.self) {
            try await pool.transact { transaction in
                try transaction.simple("CREATE TABLE u (id int); INSERT INTO u VALUES (1); INSERT INTO t VALUES (1)")
                #expect(try transaction.execute("SELECT count(*) FROM u")[0].decode(Int.self) == 1)
                throw Refusal()
            }
        }
        #expect(try await pool.value(Bool.self, "SELECT to_regclass('u') IS NULL"))
    }

    @Test(arguments: ["COMMIT", "ROLLBACK", "COMMIT; BEGIN; COMMIT"])
    func `Statements with transaction commands are refused`(_ command: String) async throws {
        let error = try await postgresError {
            try await pool.withSession { session in
                try session.transaction { transaction in try transaction.simple(command) }
            }
        }
        #expect(error.code == .misuse)
        #expect(try await rows() == 0)
        #expect(pool.statistics.connects == 2)
    }

    @Test func `Statements outside the transaction are refused while it runs`() async throws {
        let error = try await postgresError {
            try await pool.withSession { session in
                try session.transaction { _ in _ = try session.execute("SELECT 1") }
            }
        }
        #expect(error.code == .misuse)
    }

    @Test func `A body without statements sends nothing`() async throws {
        let value = try await pool.withSession { session in try session.transaction { _ in 7 } }
        #expect(value == 7)
    }
}

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
            let results = try session.pipeline((0..<12).map { SQL("SELECT \(large) || \([UInt8($0)])") })
            for (index, result) in results.enumerated() {
                let bytes = try result[0].decode([UInt8].self)
                #expect(bytes.count == large.count + 1)
                #expect(bytes.last == UInt8(index))
            }
        }
    }

    @Test(.pool(1)) func `Too many parameters are refused, and the connection stays usable`() async throws {
        var values = SQL.StringInterpolation(literalCapacity: 0, interpolationCount: 65_536)
        for _ in 0..<65_536 { values.appendInterpolation(1) }
        let statement = SQL(stringInterpolation: values)
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
