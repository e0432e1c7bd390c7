import Foundation
import RegistryCore

enum DisplayText {
    /// `1,234,567`
    static func count(_ number: Int) -> String { number.formatted(.number.locale(Locale(identifier: "en_US"))) }

    /// `1 token`, `2 tokens`
    static func count(_ number: Int, _ noun: String, _ plural: String? = nil) -> String {
        "\(count(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    /// `12.3 MB`
    static func bytes(_ count: Int) -> String {
        let units = ["bytes", "kB", "MB", "GB", "TB"]
        var (size, unit) = (Double(count), 0)
        while size >= 1000, unit < units.count - 1 { (size, unit) = (size / 1000, unit + 1) }
        return unit == 0 ? "\(count) bytes" : String(format: size < 10 ? "%.1f %@" : "%.0f %@", size, units[unit])
    }

    /// `3 min`, `2 h`, `5 d`: the largest non-zero unit.
    static func span(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        return switch seconds {
        case ..<1: "under 1 s"
        case ..<60: "\(Int(seconds)) s"
        case ..<3600: "\(Int(seconds / 60)) min"
        case ..<(48 * 3600): "\(Int(seconds / 3600)) h"
        default: "\(Int(seconds / 86_400)) d"
        }
    }

    /// `3 min ago`, `in 2 h`
    static func distance(of time: Date, from now: Date) -> String {
        let age = Duration.seconds(now.timeIntervalSince(time))
        return age >= .zero ? "\(span(age)) ago" : "in \(span(.zero - age))"
    }

    /// `2026-11-21 22:46:03`, in UTC.
    static func clock(_ time: Date) -> String {
        String(RFC3339.format(time).prefix(19)).replacingOccurrences(of: "T", with: " ")
    }

    /// `50 %`
    static func share(_ part: Int, of whole: Int) -> String {
        guard whole > 0 else { return "0 %" }
        let percent = 100 * Double(part) / Double(whole)
        return percent > 0 && percent < 1 ? "under 1 %" : "\(Int(percent.rounded())) %"
    }
}
