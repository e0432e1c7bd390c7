import Foundation

/// timestamptz: microseconds since 2000-01-01 00:00 UTC, rounded to the nearest one.
///
/// Dates from `distantFuture` on are `infinity`, those up to `distantPast` (and not-a-number) are `-infinity`.
extension Date: PostgresEncodable, PostgresDecodable {
    /// timestamptz.
    public static var postgresType: PostgresType { .timestamptz }

    /// From Postgres's epoch, 2000-01-01, to Foundation's, 2001-01-01: 366 days.
    private static let secondsBetweenEpochs: Int64 = 31_622_400
    private static let microsecondsPerSecond: Int64 = 1_000_000

    /// Appends the microseconds since 2000 as an int8.
    public func encode(into buffer: inout [UInt8]) {
        buffer.append(bigEndian: microsecondsSince2000)
    }

    private var microsecondsSince2000: Int64 {
        guard self > .distantPast else { return .min }
        guard self < .distantFuture else { return .max }
        // Whole seconds and the fraction apart: both steps are exact, so only one rounding happens.
        let whole = timeIntervalSinceReferenceDate.rounded(.down)
        let fraction = (timeIntervalSinceReferenceDate - whole) * Double(Self.microsecondsPerSecond)
        return (Int64(whole) + Self.secondsBetweenEpochs) * Self.microsecondsPerSecond + Int64(fraction.rounded())
    }

    /// Reads a timestamptz; `infinity` is `distantFuture`, `-infinity` is `distantPast`.
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard type == .timestamptz else { throw .mismatch(type, Self.self) }
        switch try WireReader.only(Int64.self, in: bytes) {
        case .max: self = .distantFuture
        case .min: self = .distantPast
        case let microseconds: self.init(microsecondsSince2000: microseconds)
        }
    }

    private init(microsecondsSince2000 microseconds: Int64) {
        let offset = Self.secondsBetweenEpochs * Self.microsecondsPerSecond
        // Saturating: the wire could contain dates outside of Postgres's range.
        let since2001 = max(microseconds, .min + offset) - offset
        let (seconds, fraction) = since2001.quotientAndRemainder(dividingBy: Self.microsecondsPerSecond)
        let part = Double(fraction) / Double(Self.microsecondsPerSecond)
        self.init(timeIntervalSinceReferenceDate: Double(seconds) + part)
    }
}

/// interval: bound as microseconds alone, rounded to the nearest one; a day counts as 24 hours.
///
/// Decoding fails for intervals with months, which have no fixed length.
extension Duration: PostgresEncodable, PostgresDecodable {
    /// interval.
    public static var postgresType: PostgresType { .interval }

    private static let attosecondsPerMicrosecond: Int64 = 1_000_000_000_000

    /// Appends the microseconds as an int8, then no days and no months.
    public func encode(into buffer: inout [UInt8]) {
        buffer.append(bigEndian: roundedMicroseconds)
        buffer.append(bigEndian: Int32(0))
        buffer.append(bigEndian: Int32(0))
    }

    /// The nearest microsecond; beyond 292,000 years the limit.
    private var roundedMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let half = Self.attosecondsPerMicrosecond / 2 * (attoseconds < 0 ? -1 : 1)
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, carried) = scaled.addingReportingOverflow((attoseconds + half) / Self.attosecondsPerMicrosecond)
        return overflow || carried ? (seconds < 0 ? .min : .max) : sum
    }

    /// - Throws: `decoding` for an interval with months.
    public init(postgres bytes: UnsafeRawBufferPointer, type: PostgresType) throws(PostgresError) {
        guard type == .interval else { throw .mismatch(type, Self.self) }
        var reader = WireReader(bytes)
        let microseconds = try reader.integer(Int64.self)
        let days = try reader.integer(Int32.self)
        let months = try reader.integer(Int32.self)
        guard reader.rest.isEmpty else { throw .malformed(Self.self) }
        guard months == 0 else { throw PostgresError(.decoding, "an interval with months has no fixed length") }
        self = .microseconds(microseconds) + .seconds(Int64(days) * 86_400)
    }
}
