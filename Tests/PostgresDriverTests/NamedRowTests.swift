import PostgresDriver
import Testing

@Suite struct NamedRowTests {
    private enum Mood: String, PostgresEncodable, PostgresDecodable, PostgresArrayElement {
        case calm
        case stormy
    }

    private struct Day: DecodableRow, Equatable {
        let number: Int
        let mood: Mood
        let note: String?

        init(number: Int, mood: Mood, note: String?) { (self.number, self.mood, self.note) = (number, mood, note) }

        init(row: NamedRow) throws {
            number = try row["number"]
            mood = try row["mood"]
            note = try row["note"]
        }
    }

    @Test(arguments: ["number, mood, note", "note, mood, number", "mood, other, note, number"])
    func `Columns are read by name in any order`(_ columns: String) async throws {
        let statement: SQL = """
            SELECT \(unescaped: columns)
            FROM (VALUES (1, 'calm', NULL, 0), (2, 'stormy', 'wet', 0)) AS d (number, mood, note, other)
            ORDER BY number
            """
        try await withPool(1) { pool in
            let days = try await pool.withSession { try $0.execute(statement).decode(Day.self) }
            #expect(days == [Day(number: 1, mood: .calm, note: nil), Day(number: 2, mood: .stormy, note: "wet")])
        }
    }

    @Test(arguments: [
        ("SELECT 1 AS number, 'calm' AS mood", "no column note"),
        ("SELECT 1 AS number, 'calm' AS mood, 2 AS note", "column 2 (note): type 23 does not fit String"),
        ("SELECT 1 AS number, 'foggy' AS mood, '' AS note", "column 1 (mood): the bytes are not a valid Mood"),
        ("SELECT 1 AS number, NULL AS mood, '' AS note", "column 1 (mood): NULL does not fit Mood"),
    ])
    func `The error for a missing or mistyped column names the column`(_ text: String, _ message: String) async throws {
        try await withSession { session in
            let result = try session.execute(SQL(stringLiteral: text))
            let error = #expect(throws: PostgresError.self) { try result.decode(Day.self) }
            #expect(error?.code == .decoding)
            #expect(error?.message == message)
        }
    }

    @Test func `Rows without columns and results without rows are read`() async throws {
        try await withSession { session throws in
            #expect(try session.execute("SELECT 1 AS number WHERE false").decode(Day.self).isEmpty)
            #expect(throws: PostgresError.self) { try session.execute("SELECT").decode(Day.self) }
        }
    }

    @Test(.pool(1)) func `An enum is bound and read as its raw value`() async throws {
        #expect(try await pool.value([Mood].self, "SELECT \([Mood.calm, .stormy])") == [.calm, .stormy])
        #expect(try await pool.value(Mood.self, "SELECT \(Mood.stormy)") == .stormy)
    }
}
