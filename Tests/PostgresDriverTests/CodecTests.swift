import Testing

@testable import PostgresDriver

/// A value and the server's text for it.
struct CodecCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let check: @Sendable (borrowing PostgresSession) throws -> Void

    init<Value: PostgresEncodable & PostgresDecodable & Equatable>(_ value: Value, _ text: String?, as type: String) {
        testDescription = "\(text ?? "NULL")::\(type)"
        check = { session in
            let row = try session.execute(
                """
                SELECT \(value), \(value)::\(unescaped: type)::text, \(text)::\(unescaped: type),
                    pg_typeof(\(value))::text
                """
            )[0].decode(Value.self, String?.self, Value.self, String.self)
            #expect(row.0 == value)
            #expect(row.1 == text)
            #expect(row.2 == value)
            #expect(row.3 == type)
        }
    }
}

@Suite struct CodecTests {
    static let scalars: [CodecCase] = [
        CodecCase(true, "true", as: "boolean"),
        CodecCase(false, "false", as: "boolean"),
        CodecCase(Int16.min, "-32768", as: "smallint"),
        CodecCase(Int16.max, "32767", as: "smallint"),
        CodecCase(Int32.min, "-2147483648", as: "integer"),
        CodecCase(Int32.max, "2147483647", as: "integer"),
        CodecCase(Int64.min, "-9223372036854775808", as: "bigint"),
        CodecCase(Int.max, "9223372036854775807", as: "bigint"),
        CodecCase(-1, "-1", as: "bigint"),
        CodecCase(0.1, "0.1", as: "double precision"),
        CodecCase(-Double.infinity, "-Infinity", as: "double precision"),
        CodecCase(Double.leastNonzeroMagnitude, "5e-324", as: "double precision"),
        CodecCase("", "", as: "text"),
        CodecCase("it's \"𝄞\" \\ $1 ü\n", "it's \"𝄞\" \\ $1 ü\n", as: "text"),
        CodecCase([UInt8](), "\\x", as: "bytea"),
        CodecCase([UInt8(0), 255, 92, 39], "\\x00ff5c27", as: "bytea"),
        CodecCase(JSONB(Array(#"{"a": [1, null, "ü"]}"#.utf8)), #"{"a": [1, null, "ü"]}"#, as: "jsonb"),
    ]

    static let durations: [CodecCase] = [
        CodecCase(Duration.zero, "00:00:00", as: "interval"),
        CodecCase(Duration.microseconds(-1), "-00:00:00.000001", as: "interval"),
        CodecCase(Duration.seconds(100 * 3600), "100:00:00", as: "interval"),
    ]

    static let nulls: [CodecCase] = [
        CodecCase(Bool?.none, nil, as: "boolean"),
        CodecCase(Int16?.none, nil, as: "smallint"),
        CodecCase(Int32?.none, nil, as: "integer"),
        CodecCase(Int64?.none, nil, as: "bigint"),
        CodecCase(Int?.none, nil, as: "bigint"),
        CodecCase(Double?.none, nil, as: "double precision"),
        CodecCase(String?.none, nil, as: "text"),
        CodecCase(String?.some("there"), "there", as: "text"),
        CodecCase([UInt8]?.none, nil, as: "bytea"),
        CodecCase(Duration?.none, nil, as: "interval"),
        CodecCase(JSONB?.none, nil, as: "jsonb"),
        CodecCase([String]?.none, nil, as: "text[]"),
    ]

    static let arrays: [CodecCase] = [
        CodecCase([String](), "{}", as: "text[]"),
        CodecCase(["a", "", "NULL", "b,\"c\\"], #"{a,"","NULL","b,\"c\\"}"#, as: "text[]"),
        CodecCase(["a", nil], "{a,NULL}", as: "text[]"),
        CodecCase([[UInt8]](), "{}", as: "bytea[]"),
        CodecCase([[1, 2], []] as [[UInt8]], #"{"\\x0102","\\x"}"#, as: "bytea[]"),
        CodecCase([[255], nil] as [[UInt8]?], #"{"\\xff",NULL}"#, as: "bytea[]"),
        CodecCase([true, nil, false], "{t,NULL,f}", as: "boolean[]"),
        CodecCase([Int16(1), nil], "{1,NULL}", as: "smallint[]"),
        CodecCase([Int32(-1)], "{-1}", as: "integer[]"),
        CodecCase([Int64.max, nil], "{9223372036854775807,NULL}", as: "bigint[]"),
        CodecCase([1, 2, 3], "{1,2,3}", as: "bigint[]"),
        CodecCase([0.5, nil], "{0.5,NULL}", as: "double precision[]"),
        CodecCase([Duration.seconds(1), nil], "{00:00:01,NULL}", as: "interval[]"),
        CodecCase([JSONB(Array("1".utf8)), nil], "{1,NULL}", as: "jsonb[]"),
    ]

    @Test(arguments: scalars + durations + nulls + arrays)
    func `A value survives a round trip and equals its text in Postgres`(_ example: CodecCase) async throws {
        try await withSession { try example.check($0) }
    }

    @Test func `Smaller integers decode as larger ones`() async throws {
        try await withSession { session in
            let row = try session.execute("SELECT 7::int2, 8::int4, 9::int8, 9::int8")[0]
            let decoded = try row.decode(Int.self, Int64.self, Int16.self, Int32.self)
            #expect((decoded.0, decoded.1, decoded.2, decoded.3) == (Int(7), Int64(8), Int16(9), Int32(9)))
        }
    }

    @Test func `Names, enums and other text-like types decode as text`() async throws {
        try await withSession { session in
            try session.simple("CREATE TYPE mood AS ENUM ('calm'); CREATE DOMAIN word AS varchar(9)")
            let mood = "calm"
            let row = try session.execute(
                "SELECT \(mood)::mood, 'w'::word, 'n'::name, 'v'::varchar, 'b'::char(1), 'u', ARRAY['calm'::mood]"
            )[0]
            for (index, text) in ["calm", "w", "n", "v", "b", "u"].enumerated() {
                #expect(try row.column(index, as: String.self) == text)
            }
            #expect(try row.column(6, as: [String].self) == ["calm"])
        }
    }

    @Test func `Extreme durations do not trap`() async throws {
        try await withSession { session in
            let longest = try session.execute("SELECT \(Duration.seconds(Int64.max))")[0].decode(Duration.self)
            #expect(longest == .microseconds(Int64.max))
            let days = try session.execute("SELECT interval '2147483647 days'")[0].decode(Duration.self)
            #expect(days == .seconds(Int64(Int32.max) * 86_400))
        }
    }

    @Test(.pool(1)) func `A day is 24 hours`() async throws {
        let length = try await pool.value(Duration.self, "SELECT interval '2 days 1 us'")
        #expect(length == .microseconds(172_800_000_001))
    }

    static let misfits: [SQL] = [
        "SELECT 'text'", "SELECT NULL::int8", "SELECT 1, 2", "SELECT 40000", "SELECT '\\x01'::bytea", "SELECT 1.5",
        "SELECT '{1}'::int8[]",
    ]

    @Test(.pool(1), arguments: misfits.indices)
    func `A value that does not fit its type is refused`(_ index: Int) async throws {
        let error = try await postgresError { _ = try await pool.value(Int16.self, Self.misfits[index]) }
        #expect(error.code == .decoding)
        #expect(!error.isSafeToRetry)
    }

    @Test func `Arrays and nulls that do not fit are refused`() async throws {
        try await withSession { session in
            let months = try session.execute("SELECT interval '1 month', '{{1},{2}}'::int8[], '{1,NULL}'::int8[], 1")[0]
            #expect(throws: PostgresError.self) { try months.column(0, as: Duration.self) }
            #expect(throws: PostgresError.self) { try months.column(1, as: [Int].self) }
            #expect(throws: PostgresError.self) { try months.column(2, as: [Int].self) }
            #expect(throws: PostgresError.self) { try months.column(3, as: String.self) }
            #expect(throws: PostgresError.self) { try months.column(4, as: Int.self) }
            #expect(try months.column(2, as: [Int?].self) == [1, nil])
        }
    }
}
