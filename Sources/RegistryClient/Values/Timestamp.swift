import Foundation

/// A time in whole milliseconds, which is how finely the registry's times are written.
package struct Timestamp: Sendable, Hashable, Comparable, Codable {
    /// Since 1970 in UTC.
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Rounds down, and moves what lies beyond the years 1 to 9999 to their ends.
    package init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
        self.milliseconds = Int64(min(max(milliseconds, -62_135_596_800_000), 253_402_300_799_999))
    }

    package init(from decoder: any Decoder) throws {
        milliseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }

    package var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

    /// The next one.
    package var next: Timestamp { Timestamp(milliseconds: milliseconds + 1) }

    package static let distantPast = Timestamp(milliseconds: 0)

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds + duration.milliseconds)
    }

    package static func - (left: Timestamp, right: Timestamp) -> Duration {
        .milliseconds(left.milliseconds - right.milliseconds)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    package var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// Its length, whichever way it points.
    package var magnitude: Duration { self < .zero ? .zero - self : self }
}
