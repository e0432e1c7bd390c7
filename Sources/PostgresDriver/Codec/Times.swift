// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
import Foundation

/// timestamptz: microseconds since 2000-01-01 00:00 UTC, rounded.
///
/// Dates from `distantFuture` on are `infinity`. Dates up to `distantPast`, and NaN, are `-infinity`.
extension Date: PostgresEncodable, PostgresDecodable {
    public static var postgresType: PostgresType { .timestamptz }

    /// 366 days: Postgres's epoch is 2000-01-01, Foundation's is 2001-01-01.
    private static let secondsBetweenEpochs: Int64 = 31_622_400
    private static let microsecondsPerSecond: Int64 = 1_000_000

    public func encode(into buffer: inout [UInt8]) {
        buffer.append(bigEndian: microsecondsSince2000)
    }

    private var microsecondsSince2000: Int64 {
        guard self > .distantPast else { return .min }
        guard self < .distantFuture else { return .max }
        // Separating whole seconds and fraction is exact, so only one rounding happens.
        let whole = timeIntervalSinceReferenceDate.rounded(.down)
        let fraction = (timeIntervalSinceReferenceDate - whole) * Double(Self.microsecondsPerSecond)
        return (Int64(whole) + Self.secondsBetweenEpochs) * Self.microsecondsPerSecond + Int64(fraction.rounded())
    }

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
        // Saturates, because the wire can contain dates outside Postgres's range.
        let since2001 = max(microseconds, .min + offset) - offset
        let (seconds, fraction) = since2001.quotientAndRemainder(dividingBy: Self.microsecondsPerSecond)
        let part = Double(fraction) / Double(Self.microsecondsPerSecond)
        self.init(timeIntervalSinceReferenceDate: Double(seconds) + part)
    }
}

/// interval: bound as rounded microseconds. A day counts as 24 hours.
///
/// Decoding fails for intervals with months, because their length varies.
extension Duration: PostgresEncodable, PostgresDecodable {
    public static var postgresType: PostgresType { .interval }

    private static let attosecondsPerMicrosecond: Int64 = 1_000_000_000_000

    public func encode(into buffer: inout [UInt8]) {
        buffer.append(bigEndian: roundedMicroseconds)
        buffer.append(bigEndian: Int64(0))  // days and months
    }

    /// Saturates at about 292,000 years.
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
