/// ISO 8601 durations without years and months, because their length depends on the calendar.
package enum ISO8601Duration {
    /// Reads weeks, days, hours, minutes and seconds, each at most once and in this order, such as `P7D` or `PT1H30M`.
    ///
    /// A day has 24 hours. Only seconds may have a fraction: 1 to 9 digits after a point or a comma. Nil for years,
    /// months, signs, durations without parts, and values beyond `Int64` seconds.
    package static func parse(_ text: String) -> Duration? {
        var text = text
        return text.withUTF8 { utf8 in
            var reader = ISO8601DurationReader(digits: DigitReader(bytes: utf8))
            return reader.duration()
        }
    }

    /// Omits parts that are zero: `PT8H`, `P7D`, `P1DT0.5S`, `PT0S`.
    ///
    /// Fractions are cut to nanoseconds. A negative duration begins with `-`, which `parse` rejects.
    package static func format(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let sign = seconds < 0 || attoseconds < 0 ? "-" : ""
        let nanoseconds = attoseconds.magnitude / 1_000_000_000
        return sign + format(seconds: seconds.magnitude, nanoseconds: nanoseconds)
    }

    private static func format(seconds: UInt64, nanoseconds: UInt64) -> String {
        let (days, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
        var time = ""
        if rest >= 3600 { time += "\(rest / 3600)H" }
        if rest % 3600 >= 60 { time += "\(rest / 60 % 60)M" }
        if rest % 60 > 0 || nanoseconds > 0 { time += "\(rest % 60)\(fraction(nanoseconds))S" }
        if days == 0, time.isEmpty { time = "0S" }
        return "P" + (days > 0 ? "\(days)D" : "") + (time.isEmpty ? "" : "T" + time)
    }

    private static func fraction(_ nanoseconds: UInt64) -> String {
        guard nanoseconds > 0 else { return "" }
        var digits: [UInt8] = []
        digits.append(addingCapacity: 10) { $0.append(UInt8(ascii: "."), decimal: Int(nanoseconds), width: 9) }
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        return String(decoding: digits, as: UTF8.self)
    }
}

private struct ISO8601DurationReader {
    var digits: DigitReader
    private var seconds: Int64 = 0
    private var nanoseconds = 0

    init(digits: DigitReader) { self.digits = digits }

    mutating func duration() -> Duration? {
        guard digits.take("P"), !digits.isAtEnd else { return nil }
        if !digits.take("T") {
            guard parts([("W", 604_800), ("D", 86_400)]) else { return nil }
            guard digits.take("T") else { return digits.isAtEnd ? total : nil }
        }
        guard !digits.isAtEnd, parts([("H", 3600), ("M", 60), ("S", 1)]), digits.isAtEnd else { return nil }
        return total
    }

    private var total: Duration { .seconds(seconds) + .nanoseconds(nanoseconds) }

    /// False if a part is malformed, out of order or too large.
    private mutating func parts(_ designators: [(letter: Unicode.Scalar, seconds: Int64)]) -> Bool {
        var rest = designators[...]
        while digits.isAtDigit {
            guard let count = digits.number() else { return false }
            let hasFraction = digits.take(".") || digits.take(",")
            if hasFraction {
                guard let fraction = digits.fraction() else { return false }
                nanoseconds = fraction
            }
            guard let index = rest.firstIndex(where: { digits.take($0.letter) }) else { return false }
            let part = rest[index]
            guard !hasFraction || part.letter == "S", add(count, times: part.seconds) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }

    private mutating func add(_ count: Int64, times length: Int64) -> Bool {
        let (product, isTooLarge) = count.multipliedReportingOverflow(by: length)
        let (sum, isTooLargeStill) = seconds.addingReportingOverflow(product)
        seconds = sum
        return !isTooLarge && !isTooLargeStill
    }
}
