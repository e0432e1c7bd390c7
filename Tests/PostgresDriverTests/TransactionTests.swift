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

    @Test(arguments: [false, true])
    func `A swallowed failure does not commit`(_ isFirst: Bool) async throws {
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
                _ = try transaction.pipeline(
                    ["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)"],
                    finishing: true
                )
            }
        }
        #expect(error.constraint == "t_key")
        #expect(try await rows() == 0)
        #expect(pool.statistics.connects == 1)
    }

    @Test func `Scripts run inside a transaction`() async throws {
        await #expect(throws: Refusal.self) {
            try await pool.transact { transaction in
                try transaction.simple(
                    "CREATE TABLE u (id int); INSERT INTO u VALUES (1); INSERT INTO t VALUES (1)"
                )
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
