import PostgresDriver
import Testing

/// Columns that are declared once: their SQL, their types, and the value that is made of them.
@Suite struct ColumnsTests {
    private struct Author: Equatable {
        let name: String
        let born: Int?

        static let columns = Columns(.one("a.name"), .one("a.born"), as: Author.init)
    }

    private struct Book: Equatable {
        let id: Int
        let shelf: String
        let author: Author
        let tags: [String]

        static let columns = Columns(
            .one("b.id"),
            .constant("north"),
            Author.columns,
            .list([.one("b.tag"), .one("upper(b.tag)")]),
            as: Book.init
        )
    }

    private struct Refused: Error {}

    private static let source: SQL = """
        FROM (VALUES (1, 'a'), (2, 'b')) AS b (id, tag), (VALUES ('Ada', NULL::int)) AS a (name, born)
        """

    @Test("Parts stand one behind the other, whole values and lists among them; a constant has no column")
    func partsAreRead() async throws {
        #expect(Book.columns.sql == "b.id, a.name, a.born, b.tag, upper(b.tag)")
        try await withPool(1) { pool in
            let books = try await pool.withSession { session in
                try session.execute("SELECT \(Book.columns) \(sql: Self.source) ORDER BY b.id").decode(Book.columns)
            }
            let ada = Author(name: "Ada", born: nil)
            #expect(
                books == [
                    Book(id: 1, shelf: "north", author: ada, tags: ["a", "A"]),
                    Book(id: 2, shelf: "north", author: ada, tags: ["b", "B"]),
                ]
            )
        }
    }

    @Test("A row with another number of columns, or of another type, is an error of decoding")
    func otherRowsAreRefused() async throws {
        try await withPool(1) { pool in
            for statement: SQL in [
                "SELECT 'Ada'", "SELECT 'Ada', 1815, 36", "SELECT 1, 1815", "SELECT NULL::text, 1815",
            ] {
                let error = try await postgresError {
                    try await pool.withSession { _ = try $0.execute(statement).decode(Author.columns) }
                }
                #expect(error.code == .decoding, "\(statement.text)")
            }
        }
    }

    @Test("An error of the making comes through")
    func makingMayThrow() async throws {
        let columns = Columns(.one("1"), as: { (number: Int) throws -> Int in throw Refused() })
        try await withPool(1) { pool in
            _ = await #expect(throws: Refused.self) {
                try await pool.withSession { _ = try $0.execute("SELECT 1").decode(columns) }
            }
        }
    }

    @Test("Rows of several columns and of one are decoded by their types")
    func typesAreEnough() async throws {
        try await withPool(1) { pool in
            try await pool.withSession { session in
                let rows = try session.execute("SELECT i, i::text FROM generate_series(1, 3) AS i").decode(
                    Int.self,
                    String.self
                )
                #expect(rows.map(\.0) == [1, 2, 3] && rows.map(\.1) == ["1", "2", "3"])
                #expect(try session.execute("SELECT generate_series(1, 3)").decode(Int.self) == [1, 2, 3])
                let two = try session.execute("SELECT 1, 2")
                #expect(throws: PostgresError.self) { try two.decode(Int.self) }
                #expect(throws: PostgresError.self) { try two[0].decode(Int.self) }
            }
        }
    }

    @Test("Samples differ from each other, and a template binds values in their places")
    func samplesStandForValues() throws {
        let samples: [PostgresParameter] = [.sample(0, .text), .sample(1, .text)]
        let template = SQLTemplate(
            "SELECT \(value: samples[1]), \(value: samples[0]), \(value: samples[1])",
            values: samples
        )
        #expect(template.places == [1, 0, 1])
        let bound = template.bind([PostgresParameter("a"), PostgresParameter("b")])
        #expect(bound.text == "SELECT $1, $2, $3" && bound.parameters == ["b", "a", "b"].map { PostgresParameter($0) })
    }
}
