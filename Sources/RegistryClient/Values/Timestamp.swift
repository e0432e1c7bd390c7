import Foundation

/// A time in whole milliseconds, which is how finely the registry's times are written.
package struct Timestamp: Sendable, Hashable, Comparable, RawRepresentable, Codable {
    /// Milliseconds since 1970 in UTC.
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
    package init(milliseconds: Int64) { rawValue = milliseconds }

    /// Rounds down, and moves what lies beyond the years 1970 to 9999 to their ends: no phone can be set to an earlier one.
    package init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
        rawValue = Int64(min(max(milliseconds, 0), 253_402_300_799_999))
    }

    package var milliseconds: Int64 { rawValue }
    package var date: Date { Date(timeIntervalSince1970: Double(rawValue) / 1000) }

    /// The next one.
    package var next: Timestamp { Timestamp(milliseconds: rawValue + 1) }

    package static let distantPast = Timestamp(milliseconds: 0)

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.rawValue < right.rawValue }

    package static func + (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(milliseconds: time.rawValue + duration.milliseconds)
    }

    package static func - (left: Timestamp, right: Timestamp) -> Duration {
        .milliseconds(left.rawValue - right.rawValue)
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
