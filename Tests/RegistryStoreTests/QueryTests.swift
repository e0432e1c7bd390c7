import Foundation
import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

@Suite(.timeLimit(.minutes(15))) struct QueryTests {
    private static var queries: [Query] { Query.all.values.sorted { $0.name < $1.name } }

    private static func files(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: ProjectFiles.root.appendingPathComponent(folder).path)
            .sorted()
    }

    @Test func `Every file is embedded`() throws {
        #expect(try Self.files(in: "sql/migrations") == Migration.all.map(\.name))
        let subjects = Set(Self.queries.map { $0.name.prefix { $0 != "." } + ".sql" })
        #expect(try Self.files(in: "sql/queries") == subjects.map(String.init).sorted())
    }

    @Test func `Every query is used and fits on a screen`() throws {
        let code = try ProjectFiles.texts(in: "Sources").map(\.text).joined()
        for query in Self.queries {
            #expect(code.contains("\"\(query.name)\""), "no code uses \(query.name)")
            #expect(query.name.wholeMatch(of: /[a-z-]+\.[a-z0-9-]+/) != nil, "\(query.name) is not subject.verb-object")
            #expect(query.text.split(separator: "\n").count <= 40, "\(query.name) is too long")
        }
    }

    /// Types that the driver encodes in binary.
    private static let boundTypes: Set<String> = [
        "boolean", "smallint", "integer", "bigint", "double precision", "text", "bytea", "jsonb", "interval",
        "timestamp with time zone", "tid",
    ]

    @Test func `Every query fits the schema, and its parameters have types that Swift binds`() async throws {
        let database = try await TestDatabase.make()
        try await database.pool.withSession { session in
            for query in Self.queries {
                do {
                    for (name, type) in zip(query.parameters, try session.parameterTypes(of: query)) {
                        let element = type.hasSuffix("[]") ? String(type.dropLast(2)) : type
                        // A composite type is bound as a `PostgresComposite`.
                        let isBound = Self.boundTypes.contains(element) || element.hasSuffix("_write")
                        #expect(isBound, "\(query.name): cast :\(name), of type \(type)")
                    }
                } catch let error as PostgresError { Issue.record("\(query.name): \(error)") }
            }
        }
    }
}

/// JSON in `jsonb` columns is returned in its canonical form.
@Suite(.timeLimit(.minutes(15))) struct StoredJSONTests {
    private static let numbers = [
        "1e18", "-1e18", "5.0", "1E5", "1.50", "0.1", "-0", "-0.0", "1e19", "1e308", "5e-324", "1e-400", "9.3e18",
        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
        "9223372036854774784.0", "123456789012345678901234567890", "2.2250738585072014e-308", "1.7976931348623157e308",
        "0.30000000000000004", "1e-7", "4503599627370496.5",
    ]

    private static let texts = [
        #""""#, #""K""#, #""\u212a""#, #""é""#, #""e\u0301""#, #""\ud83c\udf55""#, #""\u0001\u001f\u007f\u0085""#,
        #""\\\"\/""#, #""\uffff""#, #""1e18""#,
    ]

    private static func roundTrip(_ value: JSONValue, in database: TestDatabase) async throws -> JSONValue {
        let stored = try await database.pool.withSession { session in
            try session.execute("SELECT \(JSONB(value.canonicalBytes))")[0].decode(JSONB.self)
        }
        return try #require(JSONValue(stored: stored.bytes))
    }

    @Test func `Every number and text is stored unchanged`() async throws {
        let database = try await TestDatabase.make()
        let scalars = (Self.numbers + Self.texts).joined(separator: ",")
        let members = Self.texts.enumerated().map { "\($1):\($0)" }.joined(separator: ",")
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        for text in ["[\(scalars)]", "{\(members)}", deep, #"{"a":1,"a":2,"":{"":[]}}"#] {
            let value = try JSONParser.parse(text, maximumDepth: JSONParser.deepestNesting)
            #expect(try await Self.roundTrip(value, in: database).canonicalBytes == value.canonicalBytes, "\(text)")
        }
    }

    /// `jsonb` treats two notations of a number as one value, so without one form the order of requests would matter.
    @Test(arguments: [("1", "1.0"), ("1e2", "100"), ("-0", "0.0"), ("1.50", "1.5"), ("1e19", "10000000000000000000")])
    func `Equal numbers have one form`(_ one: String, _ other: String) throws {
        #expect(try JSONParser.parse(one).canonicalBytes == JSONParser.parse(other).canonicalBytes)
    }

    /// Facts contain times in microseconds, and texts without the limits of requests.
    @Test(arguments: [
        ActivityOwner.app, .subject("\u{301}x"), .subject("app"), .subject(":"), .installation(.sample(3)),
    ])
    func `Owners are read back unchanged`(_ owner: ActivityOwner) throws {
        #expect(try ActivityOwner(stored: owner.stored) == owner)
    }
}

@Suite struct TimestampTests {
    private static let seconds: [Double] = [
        0, 1e-7, 4e-7, 5e-7, 6e-7, 0.999_999_5, 1.000_000_5, 0.123_456_789, 86_399.999_999_6, 800_000_000.1,
    ]
    private static let ends: [Date] = [
        .distantPast, .distantFuture, .distantPast.addingTimeInterval(0.001), .distantFuture.addingTimeInterval(-0.001),
    ]
    private static let dates: [Date] =
        (seconds + seconds.map { -$0 }).map { Date(timeIntervalSinceReferenceDate: $0) } + ends

    @Test func `A timestamp survives a round trip through a date and a column`() async throws {
        let times = Self.dates.map(Timestamp.init) + [-1, 0, 1, 123_456_789].map { Timestamp(microseconds: $0) }
        #expect(times.map { Timestamp($0.date) } == times)
        let database = try await TestDatabase.make()
        let (stored, dates) = try await database.pool.withSession { session in
            let row = try session.execute("SELECT \(times), \(times)")[0]
            return try row.decode([Timestamp].self, [Date].self)
        }
        #expect(stored == times)
        #expect(dates.map(Timestamp.init) == times)
        let error = try await database.pool.withSession { session in
            #expect(throws: PostgresError.self) { try session.execute("SELECT 1::bigint")[0].decode(Timestamp.self) }
        }
        #expect(error?.code == .decoding)
    }

    @Test func `Infinity is later than every time and is kept`() async throws {
        let database = try await TestDatabase.make()
        let ends = try await database.pool.withSession { session in
            try session.execute("SELECT unnest('{-infinity,infinity}'::timestamptz[])").decode(Timestamp.self)
        }
        #expect(ends == [.distantPast, .distantFuture])
        #expect(ends.map(\.date) == [.distantPast, .distantFuture])
        #expect(ends.map { $0 + .seconds(1) } == ends)
        #expect(ends.map { $0 - .seconds(1) } == ends)
        #expect(Timestamp.distantPast < Timestamp(Date()))
        #expect(Timestamp(Date()) < .distantFuture)
    }

    @Test func `Durations are whole microseconds`() {
        let time = Timestamp(microseconds: 10)
        #expect(time + .microseconds(5) == Timestamp(microseconds: 15))
        #expect(time - .seconds(2) == Timestamp(microseconds: 10 - 2_000_000))
        #expect(time + .nanoseconds(1999) == Timestamp(microseconds: 11))
        #expect((time + .seconds(3)) - time == .seconds(3))
        #expect(Timestamp(microseconds: .max - 1) + .seconds(1) == .distantFuture)
        #expect(Timestamp(microseconds: .min + 1) - .seconds(1) == .distantPast)
        #expect(Timestamp.distantPast - time == Duration.microseconds(Int64.min))
    }
}
