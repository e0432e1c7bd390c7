import Foundation

/// ISO 8601 durations without years and months, because their length depends on the calendar.
package enum ISO8601Duration {
    /// Reads weeks, days, hours, minutes and seconds, each at most once and in this order, such as `P7D` or `PT1H30M`.
    ///
    /// A day has 24 hours. Only seconds may have a fraction: 1 to 9 digits after a point or a comma. Nil for years,
    /// months, signs, durations without parts, and values beyond `Int64` seconds.
    package static func parse(_ text: String) -> Duration? {
        let form =
            /P(?:([0-9]+)W)?(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:[.,]([0-9]{1,9}))?S)?)?/
            .matchingSemantics(.unicodeScalar)
        guard let parts = text.wholeMatch(of: form), !text.hasSuffix("P"), !text.hasSuffix("T") else { return nil }
        let counts =
            [
                (parts.1, 604_800), (parts.2, 86_400), (parts.3, 3600), (parts.4, 60), (parts.5, 1),
            ] as [(digits: Substring?, length: Int64)]
        var seconds: Int64 = 0
        for case (let digits?, let length) in counts {
            guard let count = Int64(digits) else { return nil }
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: length)
            let (sum, isTooLargeStill) = seconds.addingReportingOverflow(product)
            guard !isTooLarge, !isTooLargeStill else { return nil }
            seconds = sum
        }
        let nanoseconds = (parts.6 ?? "").padding(toLength: 9, withPad: "0", startingAt: 0)
        return .seconds(seconds) + .nanoseconds(Int64(nanoseconds) ?? 0)
    }

    /// Omits parts that are zero: `PT8H`, `P7D`, `P1DT0.5S`, `PT0S`.
    ///
    /// Fractions are cut to nanoseconds. A negative duration begins with `-`, which `parse` rejects.
    package static func format(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let sign = seconds < 0 || attoseconds < 0 ? "-" : ""
        let nanoseconds = attoseconds.magnitude / 1_000_000_000
        let (days, rest) = seconds.magnitude.quotientAndRemainder(dividingBy: 86_400)
        var time = ""
        if rest >= 3600 { time += "\(rest / 3600)H" }
        if rest % 3600 >= 60 { time += "\(rest / 60 % 60)M" }
        if rest % 60 > 0 || nanoseconds > 0 { time += "\(rest % 60)\(fraction(nanoseconds))S" }
        if days == 0, time.isEmpty { time = "0S" }
        return sign + "P" + (days > 0 ? "\(days)D" : "") + (time.isEmpty ? "" : "T" + time)
    }

    private static func fraction(_ nanoseconds: UInt64) -> String {
        guard nanoseconds > 0 else { return "" }
        var digits: [UInt8] = []
        digits.append(addingCapacity: 10) { $0.append(UInt8(ascii: "."), decimal: Int(nanoseconds), width: 9) }
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        return String(decoding: digits, as: UTF8.self)
    }
}
