import PostgresDriver
import Testing

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

    private static let query = try! Query.parse(
        "-- name: books.list\nSELECT b.*, b.mood::text AS mood_text FROM unnest(:rows::book[]) AS b;",
        subject: "books"
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
            _ = try await pool.withSession {
                try Self.read([Book(id: 1, title: "Faust", mood: "calm", pages: [])], $0)
            }
        }
        #expect(error.sqlState == "42804")
    }
}
