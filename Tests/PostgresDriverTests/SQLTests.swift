import PostgresDriver
import Testing

@Suite struct SQLTests {
    @Test func `Interpolations become parameters`() {
        let statement: SQL = "SELECT \(1), \("two"), \(nil as Int?)"
        #expect(statement.text == "SELECT $1, $2, $3")
        #expect(statement.parameters.map(\.type) == [.int8, .text, .int8])
    }

    @Test func `Literals are unchanged`() {
        let statement: SQL = "SELECT '$1', 'it''s'"
        #expect(statement.text == "SELECT '$1', 'it''s'")
        #expect(statement.parameters.isEmpty)
    }

    @Test func `Inserted statements are renumbered`() {
        let condition: SQL = "a = \(1) AND b = '$9' AND c = \("x")"
        let nested: SQL = "(\(sql: condition)) OR d = \(true)"
        let statement: SQL = "SELECT \(2.5) WHERE \(sql: nested) AND \(sql: "plain") LIMIT \(3)"
        #expect(statement.text == "SELECT $1 WHERE (a = $2 AND b = '$9' AND c = $3) OR d = $4 AND plain LIMIT $5")
        #expect(statement.parameters.map(\.type) == [.float8, .int8, .text, .bool, .int8])
    }

    @Test func `Unescaped text is part of the statement`() {
        let column = "name"
        let statement: SQL = "SELECT \(unescaped: column) FROM app WHERE id = \(7)"
        #expect(statement.text == "SELECT name FROM app WHERE id = $1")
    }

    @Test func `Arrays bind as arrays and bytes as bytea`() {
        let statement: SQL = "\([1]) \(["a"]) \([nil, "a"]) \([UInt8(1)]) \([[UInt8(1)]]) \([true, nil])"
        #expect(
            statement.parameters.map(\.type)
                == [.int8.array, .text.array, .text.array, .bytea, .bytea.array, .bool.array]
        )
    }

    @Test(.pool(1)) func `A value that looks like SQL is only a value`() async throws {
        let hostile = "'; DROP TABLE app; --"
        #expect(try await pool.value(String.self, "SELECT \(hostile)") == hostile)
    }
}
