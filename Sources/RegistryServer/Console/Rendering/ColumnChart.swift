import Foundation
import RegistryCore
import RegistryStore

/// Events or token counts over time as an SVG chart, with a summary and a table.
struct ColumnChart: Sendable {
    /// `types` are event types or token kinds, from the bottom of a column to its top.
    struct Subject: Sendable {
        let title: String
        let types: [String]
        /// A column shows the level at its end and not a sum of events.
        var isLevel = false
    }

    static let subjects = [
        Subject(title: "Live tokens", types: [], isLevel: true),
        Subject(title: "Registrations", types: ["registered", "reactivated"]),
        Subject(title: "Rotations", types: ["rotated"]),
        Subject(title: "Ends", types: ["ended", "expired", "dismissed"]),
        Subject(title: "Drops", types: ["dropped", "quarantined", "taken-over", "purged", "erased"]),
    ]

    private let subject: Subject
    /// For levels the kinds of tokens that are counted.
    private let types: [String]
    private let statistics: RegistryStatistics
    private let starts: [Date]
    private let series: [[Int]]

    init(_ subject: Subject, _ statistics: RegistryStatistics) {
        self.subject = subject
        self.statistics = statistics
        let step = Double(statistics.step.components.seconds)
        let end = statistics.computedAt.timeIntervalSince1970
        let first = ((end - Double(statistics.window.components.seconds)) / step).rounded(.down)
        let last = (end / step).rounded(.down)
        let starts = (Int(first)...Int(last)).map { Date(timeIntervalSince1970: Double($0) * step) }
        self.starts = starts
        let columns = subject.isLevel ? Self.levels(statistics, starts, step) : Self.sums(statistics, starts, step)
        types = subject.isLevel ? statistics.tokens.map(\.kind.name) : subject.types
        series = types.map { type in columns.map { $0[type] ?? 0 } }
    }

    private static func sums(_ statistics: RegistryStatistics, _ starts: [Date], _ step: Double) -> [[String: Int]] {
        func number(_ start: Date) -> Int { Int((start.timeIntervalSince1970 / step).rounded()) }
        let steps = Dictionary(statistics.steps.map { (number($0.start), $0.counts) }) { first, _ in first }
        return starts.map { steps[number($0)] ?? [:] }
    }

    /// The last count before the end of each column, unless it is too old. The last column shows the current count.
    private static func levels(_ statistics: RegistryStatistics, _ starts: [Date], _ step: Double) -> [[String: Int]] {
        let present = Dictionary(statistics.tokens.map { ($0.kind.name, $0.count) }, uniquingKeysWith: +)
        let now = RegistryStatistics.Step(start: statistics.computedAt, counts: present)
        var counts = (statistics.tokenCounts + [now])[...]
        var last: RegistryStatistics.Step?
        let validity = Double(RegistryStatistics.tokenCountValidity.components.seconds)
        return starts.map { start in
            while let next = counts.first, next.start < start.addingTimeInterval(step) {
                last = next
                counts.removeFirst()
            }
            guard let last, last.start > start.addingTimeInterval(-validity) else { return [:] }
            return last.counts
        }
    }

    private var totals: [Int] { starts.indices.map { index in series.map { $0[index] }.reduce(0, +) } }
    private var span: String { DisplayText.span(statistics.window) }
    var total: Int { sum(totals) }

    var peak: String {
        let peak = totals.max() ?? 0
        guard peak > 0 else { return "none" }
        return DisplayText.count(peak) + (subject.isLevel ? "" : " in \(DisplayText.span(statistics.step))")
    }

    private func sum(_ columns: [Int]) -> Int { subject.isLevel ? columns.last ?? 0 : columns.reduce(0, +) }

    var sentence: String {
        guard let most = totals.max(), most > 0, let index = totals.firstIndex(of: most) else {
            return "\(subject.title) in the last \(span): none."
        }
        let total = DisplayText.count(total) + (subject.isLevel ? " now" : " in total")
        return "\(subject.title) in the last \(span): \(total), most at \(time(starts[index])): \(peak)."
    }

    private var most: Int { max(1, totals.max() ?? 0) }
    private var box: String { "0 0 \(starts.count) \(most)" }

    private var layers: [(number: Int, path: String)] {
        var tops = [Int](repeating: most, count: starts.count)
        return series.enumerated().map { number, counts in
            let columns = counts.indices.filter { counts[$0] > 0 }.map { index in
                tops[index] -= counts[index]
                return "M\(index).1 \(tops[index])h.8v\(counts[index])h-.8z"
            }
            return (number: number + 1, path: columns.joined())
        }
    }

    var legend: [(number: Int, type: String, total: Int)] {
        types.count < 2 ? [] : types.indices.map { (number: $0 + 1, type: types[$0], total: sum(series[$0])) }
    }

    /// The rows of the table: columns with a count, and their counts by type.
    var figures: [(column: Int, time: String, counts: [Int])] {
        let totals = totals
        return starts.indices.filter { totals[$0] > 0 }.map { index in
            (column: index, time: time(starts[index]), counts: series.map { $0[index] })
        }
    }

    private var from: String { time(starts[0]) }
    private var until: String { time(starts[starts.count - 1]) }

    /// `22:45`, with the day if the window has several.
    private func time(_ date: Date) -> String {
        let text = DisplayText.clock(date)
        return statistics.window >= .seconds(86_400)
            ? String(text.dropFirst(5).prefix(11)) : String(text.suffix(8).prefix(5))
    }
}

extension ColumnChart: Presentable {
    static var computed: Properties {
        [
            "title": \.subject.title, "total": \.total, "peak": \.peak, "sentence": \.sentence, "layers": \.layers,
            "legend": \.legend, "from": \.from, "until": \.until, "figures": \.figures, "columns": \.starts.count,
            "box": \.box,
        ]
    }
}
