import Testing

@testable import PostgresDriver

@Suite struct QueryTests {
    private static let file = """
        -- Books of a library.

        -- name: books.list
        -- The books of a shelf; the comment goes.
        SELECT b.id::text AS id, 'a: ''; -- :quoted' AS "a:b"  -- and so does this
        FROM (VALUES (1, 'x', '{1,2}'::int[]), (2, 'y', '{}')) AS b (id, shelf, pages)
        -- A line of its own.
        WHERE b.shelf = :shelf AND b.id > :after AND :shelf <> '' AND b.pages[1:2] IS NOT NULL
        ORDER BY b.id;

        -- name: books.count-all
        SELECT 2 AS count;
        -- The end.
        """

    private static func parsed(_ text: String = file) throws -> [Query] { try Query.parse(text, subject: "books") }

    @Test func `Comments are removed, and names become numbers`() throws {
        let queries = try Self.parsed()
        #expect(queries.map(\.name) == ["books.list", "books.count-all"])
        #expect(queries.map(\.parameters) == [["shelf", "after"], []])
        #expect(
            queries[0].text == """
                SELECT b.id::text AS id, 'a: ''; -- :quoted' AS "a:b"
                FROM (VALUES (1, 'x', '{1,2}'::int[]), (2, 'y', '{}')) AS b (id, shelf, pages)
                WHERE b.shelf = $1 AND b.id > $2 AND $1 <> '' AND b.pages[1:2] IS NOT NULL
                ORDER BY b.id
                """
        )
        #expect(queries[1].text == "SELECT 2 AS count")
    }

    @Test(arguments: [
        ("", "query books: the file has no query"),
        ("SELECT 1;\n-- name: books.list\nSELECT 1;", "query books: the text before the first query is not a comment"),
        ("-- name: books\nSELECT 1;", "query books: the name is not books.verb-object"),
        ("-- name: shelves.list\nSELECT 1;", "query shelves.list: the name is not books.verb-object"),
        ("-- name: books.list all\nSELECT 1;", "query books.list all: the name is not books.verb-object"),
        ("-- name: books.list\n-- Nothing.\n;", "query books.list: the query is empty"),
        ("-- name: books.list\nSELECT 1", "query books.list: the only semicolon is not at the end"),
        ("-- name: books.list\nSELECT 1;\nSELECT 2;", "query books.list: the only semicolon is not at the end"),
        ("-- name: books.list\nSELECT 1; SELECT 2", "query books.list: the only semicolon is not at the end"),
        ("-- name: books.list\nSELECT $1;", "query books.list: a parameter is written :name, not $1"),
        ("-- name: books.list\nSELECT 'a;", "query books.list: a quotation has no end"),
    ])
    func `An error in a query file names the query`(_ text: String, _ message: String) {
        let error = #expect(throws: PostgresError.self) { try Self.parsed(text) }
        #expect(error?.code == .misuse)
        #expect(error?.message == message)
    }

    @Test func `Values are bound by name in any order`() async throws {
        let query = try Self.parsed()[0]
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

    @Test(arguments: [
        (["shelf"], "the query books.list did not get the parameter after"),
        (["shelf", "after", "before"], "the query books.list has no parameter before"),
        (["shelf", "after", "shelf"], "the query books.list got the parameter shelf twice"),
        (["shelf", "after"], nil),
    ])
    func `A binding error names the query and the parameter`(_ names: [String], _ message: String?) throws {
        #expect(try Self.parsed()[0].bindingFault(of: names) == message)
    }

    @Test func `A query is prepared once per connection`() async throws {
        let (one, other) = (try Self.parsed()[1], try Self.parsed()[1])
        try await withSession { session in
            for _ in 0..<3 { _ = try session.pipeline([one(), other(), one()]) }
            let texts = try session.execute("SELECT statement FROM pg_prepared_statements").decode(String.self)
            #expect(texts.filter { $0 == one.text }.count == 2)
        }
    }

    @Test func `The server infers the types of a query's parameters`() async throws {
        let query = try Query.parse(
            "-- name: a.b\nSELECT :day::text::date + 1 AS next, :number + 1::bigint AS number, :small::int;",
            subject: "a"
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
