import PostgresDriver
import Testing

@Suite struct ResultTests {
    @Test func `Rows of one or several columns decode from their types alone`() async throws {
        try await withSession { session in
            let rows = try session.execute("SELECT i, i::text FROM generate_series(1, 3) AS i").decode(
                Int.self,
                String.self
            )
            #expect(rows.map(\.0) == [1, 2, 3])
            #expect(rows.map(\.1) == ["1", "2", "3"])
            #expect(try session.execute("SELECT generate_series(1, 3)").decode(Int.self) == [1, 2, 3])
            let two = try session.execute("SELECT 1, 2")
            #expect(throws: PostgresError.self) { try two.decode(Int.self) }
            #expect(throws: PostgresError.self) { try two[0].decode(Int.self) }
        }
    }
}
