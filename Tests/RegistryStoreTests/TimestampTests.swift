import Foundation
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite struct TimestampTests {
    private static let seconds: [Double] = [
        0, 1e-7, 4e-7, 5e-7, 6e-7, 0.999_999_5, 1.000_000_5, 0.123_456_789, 86_399.999_999_6, 800_000_000.1,
    ]
    private static let ends: [Date] = [
        .distantPast, .distantFuture, .distantPast.addingTimeInterval(0.001), .distantFuture.addingTimeInterval(-0.001),
    ]
    private static let dates: [Date] =
        (seconds + seconds.map { -$0 }).map { Date(timeIntervalSinceReferenceDate: $0) } + ends

    @Test func `A timestamp is rounded like the date that the driver binds`() {
        var random = SeededGenerator(seed: 7)
        let more = (0..<10_000).map { _ in
            Date(timeIntervalSinceReferenceDate: .random(in: -3e9...3e9, using: &random))
        }
        for date in Self.dates + more {
            let bound = PostgresParameter(date)
            #expect(PostgresParameter(Timestamp(date)) == bound, "\(date.timeIntervalSinceReferenceDate)")
        }
    }

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
