import Testing

@testable import PostgresDriver

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

@Suite struct QueryTests {
    private static let file = """
        -- Books of a library.

        -- name: books.list
        -- The books of a shelf; the comment goes.
        SELECT b.id::text AS id, 'a: ''; -- quoted' AS "a: b"
        FROM (VALUES (1, 'x', '{1,2}'::int[]), (2, 'y', '{}')) AS b (id, shelf, pages)
            -- An indented line.
        WHERE b.shelf = :shelf AND b.id > :after AND :shelf <> '' AND b.pages[1:2] IS NOT NULL
        ORDER BY b.id;

        -- name: books.count-all
        SELECT 2 AS count;
        -- The end.
        """

    private static let queries = Query.parse(file)

    @Test func `Comments are removed, and names become numbers`() {
        let queries = Self.queries
        #expect(queries.map(\.name) == ["books.list", "books.count-all"])
        #expect(queries.map(\.parameters) == [["shelf", "after"], []])
        #expect(
            queries[0].text == """
                SELECT b.id::text AS id, 'a: ''; -- quoted' AS "a: b"
                FROM (VALUES (1, 'x', '{1,2}'::int[]), (2, 'y', '{}')) AS b (id, shelf, pages)
                WHERE b.shelf = $1 AND b.id > $2 AND $1 <> '' AND b.pages[1:2] IS NOT NULL
                ORDER BY b.id
                """
        )
        #expect(queries[1].text == "SELECT 2 AS count")
    }

    @Test func `Values are bound by name in any order`() async throws {
        let query = Self.queries[0]
        let ordered = query(["shelf": "x", "after": Int32(0)])
        #expect(ordered.parameters == [PostgresParameter("x"), PostgresParameter(Int32(0))])
        #expect(query(["after": Int32(0)] + ["shelf": "x"]).parameters == ordered.parameters)
        try await withSession { session in
            #expect(try session.pipeline([ordered, "SELECT \(1)"]).map(\.count) == [1, 1])
            let ids: [String] = try session.run(query, ["shelf": "y", "after": Int32(1)]).decode { try $0["id"] }
            #expect(ids == ["2"])
            let none = try session.transaction { try $0.run(query, ["shelf": "y", "after": Int32(2)]).count }
            #expect(none == 0)
        }
    }

    @Test func `A query is prepared once per connection, and a literal is not`() async throws {
        let query = Self.queries[1]
        try await withSession { session in
            for number in 0..<3 { _ = try session.pipeline([query(), "SELECT \(number)", query()]) }
            let texts = try session.execute("SELECT statement FROM pg_prepared_statements").decode(String.self)
            #expect(texts == [query.text])
        }
    }

    @Test func `The server infers the types of a query's parameters`() async throws {
        let query = Query.parse(
            "-- name: a.b\nSELECT :day::text::date + 1 AS next, :number + 1::bigint AS number, :small::int;"
        )[0]
        try await withSession { session in
            let result = try session.run(query, ["day": "2026-02-28", "number": 4, "small": Int32(0)])
            let numbers: [Int] = try result.decode { try $0["number"] }
            #expect(numbers == [5])
            let error = #expect(throws: PostgresError.self) {
                try session.run(query, ["day": "2026-02-28", "number": 4, "small": 0])
            }
            #expect(error?.sqlState == "22P03")
        }
    }
}

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

@Suite struct CompositeTests {
    private struct Book: PostgresComposite {
        let id: Int
        let title: String?
        let mood: String
        let pages: [Int]

        func encode(into row: inout CompositeWriter) {
            row.append(id)
            row.append(title)
            row.append(mood)
            row.append(pages)
        }
    }

    private static let query = Query.parse(
        "-- name: books.list\nSELECT b.*, b.mood::text AS mood_text FROM unnest(:rows::book[]) AS b;"
    )[0]

    private static func read(_ books: [Book], _ session: borrowing PostgresSession) throws -> [String] {
        try session.run(query, ["rows": books]).decode { row in
            let (title, pages): (String?, [Int]) = (try row["title"], try row["pages"])
            return "\(try row["id"] as Int) \(title ?? "-") \(try row["mood_text"] as String) \(pages)"
        }
    }

    /// The connection is older than the type, and the type's number differs between the two schemas.
    @Test(arguments: 1...2) func `Rows are bound without the OID of their type`(_ time: Int) async throws {
        let books = [
            Book(id: 1, title: "Faust", mood: "calm", pages: [7, 8]),
            Book(id: 2, title: nil, mood: "stormy", pages: []),
        ]
        try await withPool(1) { pool in
            try await pool.run("CREATE TYPE mood AS ENUM ('calm', 'stormy')")
            try await pool.run("CREATE TYPE book AS (id bigint, title text, mood mood, pages bigint[])")
            let (found, none) = try await pool.withSession { session in
                (try Self.read(books, session), try Self.read([], session))
            }
            #expect(found == ["1 Faust calm [7, 8]", "2 - stormy []"])
            #expect(none.isEmpty)
        }
    }

    @Test(
        .pool(1),
        arguments: ["id bigint, title text, mood text", "id bigint, title bytea, mood text, pages bigint[]"]
    )
    func `Rows with other columns are refused`(_ columns: String) async throws {
        try await pool.run("CREATE TYPE book AS (\(unescaped: columns))")
        let error = try await postgresError {
            _ = try await pool.withSession { try Self.read([Book(id: 1, title: "Faust", mood: "calm", pages: [])], $0) }
        }
        #expect(error.sqlState == "42804")
    }
}
