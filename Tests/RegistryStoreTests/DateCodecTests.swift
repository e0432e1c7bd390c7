import Foundation
import PostgresDriver
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct DateCodecTests {
    private static let dates: [(date: Date?, text: String?)] = [
        (Date(timeIntervalSince1970: 946_684_800), "2000-01-01 00:00:00+00"),
        (Date(timeIntervalSince1970: 0), "1970-01-01 00:00:00+00"),
        (Date(timeIntervalSinceReferenceDate: 0.000001), "2001-01-01 00:00:00.000001+00"),
        (Date(timeIntervalSinceReferenceDate: -0.5), "2000-12-31 23:59:59.5+00"),
        (.distantFuture, "infinity"), (.distantPast, "-infinity"), (nil, nil),
    ]

    private let database: TestDatabase

    init() async throws { database = try await TestDatabase.make() }

    private func value<Value: PostgresDecodable & Sendable>(_ query: SQL) async throws -> Value {
        try await database.pool.withSession { try $0.execute(query)[0].decode(Value.self) }
    }

    @Test func `Dates survive a round trip and equal their texts in Postgres`() async throws {
        let (dates, texts) = (Self.dates.map(\.date), Self.dates.map(\.text))
        #expect(try await value("SELECT \(dates)") == dates)
        #expect(try await value("SELECT \(dates)::text[]") == texts)
        #expect(try await value("SELECT \(texts)::timestamptz[]") == dates)
        for date in dates { #expect(try await value("SELECT \(date)") == date) }
        #expect(try await value("SELECT pg_typeof(\(dates[0]))::text") == "timestamp with time zone")
    }

    @Test func `Dates are rounded to the nearest microsecond`() async throws {
        let base = Date(timeIntervalSinceReferenceDate: 700_000_000)
        for (seconds, microseconds) in [(0.000_000_4, 0), (0.000_000_6, 1), (0.999_999_7, 1_000_000)] {
            let difference: SQL = "SELECT (extract(epoch FROM \(base + seconds) - \(base)) * 1000000)::int8"
            #expect(try await value(difference) == microseconds)
        }
    }

    @Test func `Dates made by the server are exact`() async throws {
        try await database.pool.withSession { session in
            let rows = try session.execute(
                """
                SELECT '1900-01-01'::timestamptz + i * interval '1234567.654321 s',
                    row_number() OVER (ORDER BY i) FROM generate_series(1, 5000) AS i ORDER BY i
                """
            ).rows.map { try $0.decode(Date.self, Int.self) }
            let back = try session.execute(
                """
                SELECT count(*) FROM unnest(\(rows.map(\.0))) WITH ORDINALITY AS sent (at, i)
                WHERE at = '1900-01-01'::timestamptz + i * interval '1234567.654321 s'
                """
            )
            #expect(try back[0].decode(Int.self) == 5000)
        }
    }

    @Test func `Extreme dates do not trap`() async throws {
        let dates = [Double.nan, .infinity, -.infinity, 1e300].map(Date.init(timeIntervalSinceReferenceDate:))
        #expect(try await value("SELECT \(dates)::text") == "{-infinity,infinity,-infinity,infinity}")
    }
}
