import Testing

@testable import PostgresDriver

@Suite struct PreparedStatementsTests {
    @Test func `Different parameter types need a separate prepared statement`() {
        var cache = PreparedStatements()
        cache.names[.init("SELECT \(1)")] = "s1"
        #expect(cache.names[.init("SELECT \(2)")] == "s1")
        #expect(cache.names[.init("SELECT \("text")")] == nil)
    }

    @Test func `A statement is prepared once`() async throws {
        try await withSession { session in
            for number in 0..<5 { _ = try session.execute("SELECT \(number) + 1000") }
            let prepared: SQL = "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT $1 + 1000'"
            #expect(try session.execute(prepared)[0].decode(Int.self) == 1)
        }
    }

    @Test func `The number of prepared statements is bounded`() async throws {
        try await withSession { session in
            for number in 0..<700 {
                let text = "SELECT \(number) AS c\(number)"
                let row = try session.execute(SQL(stringLiteral: text))[0]
                #expect(try row.decode(Int.self) == number)
            }
            let prepared = try session.execute("SELECT count(*) FROM pg_prepared_statements")[0]
            #expect((1...260).contains(try prepared.decode(Int.self)))
        }
    }

    @Test func `One pipeline may have more statements than the cache`() async throws {
        try await withSession { session in
            let statements = (0..<600).map { SQL(stringLiteral: "SELECT \($0) AS d\($0)") }
            for _ in 0..<2 {
                let numbers = try session.pipeline(statements).map { try $0[0].decode(Int32.self) }
                #expect(numbers == Array(0..<600))
            }
            _ = try session.execute("SELECT 1")
            let prepared = try session.execute("SELECT count(*) FROM pg_prepared_statements")[0]
            #expect(try prepared.decode(Int.self) <= 260)
        }
    }

    @Test func `A failed parse is not cached`() async throws {
        try await withSession { session in
            let select: SQL = "SELECT count(*) FROM later"
            let error = #expect(throws: PostgresError.self) { try session.execute(select) }
            #expect(error?.sqlState == "42P01")
            _ = try session.execute("CREATE TABLE later (id int)")
            #expect(try session.execute(select)[0].decode(Int.self) == 0)
        }
    }

    @Test func `Statements after a failure are not cached`() async throws {
        try await withSession { session in
            let behind: SQL = "SELECT 'behind'"
            #expect(throws: PostgresError.self) { try session.pipeline(["SELECT 1/0", behind, behind]) }
            _ = try session.execute(behind)
            #expect(throws: PostgresError.self) { try session.pipeline([behind, "SELECT 1/0"]) }
            _ = try session.execute(behind)
        }
    }

    @Test(.pool(1)) func `Statements unknown to the server are retried on a new connection`() async throws {
        let tries = Counter()
        let statement: SQL = "SELECT 'remembered'"
        try await pool.withSession { _ = try $0.pipeline([statement, "SELECT 1"]) }
        try await pool.withSession { try $0.simple("DEALLOCATE ALL") }
        let text = try await pool.withSession { session in
            tries.increment()
            return try session.execute(statement)[0].decode(String.self)
        }
        #expect(text == "remembered")
        #expect(tries.value == 2)
        #expect(pool.statistics.connects == 2)
    }

    @Test(.pool(2)) func `A changed result type is retried on a new connection`() async throws {
        try await pool.run("CREATE TABLE t (a int)", "INSERT INTO t VALUES (1)")
        let all: SQL = "SELECT * FROM t"
        try await pool.withSession { _ = try $0.execute(all) }
        try await pool.run("ALTER TABLE t ADD b text DEFAULT 'new'")
        let row = try await pool.withSession { try $0.execute(all)[0].decode(Int.self, String.self) }
        #expect(row == (1, "new"))
        #expect(pool.statistics.retries == 1)
    }
}
