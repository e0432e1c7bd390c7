import PostgresDriver
import RegistryCore
import TestSupport
import Testing

@testable import RegistryStore

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
