import Foundation
import RegistryCore

/// Events or token counts over time as an SVG chart, with a summary and a table.
struct ColumnChart {
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
    private static let width = 600.0
    private static let height = 100.0

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
    private var step: String { DisplayText.span(statistics.step) }

    var fields: TemplateContext {
        let (totals, peak) = (totals, totals.max() ?? 0)
        return [
            "chartTitle": .text(subject.title), "chartTotal": .text(DisplayText.count(sum(totals))),
            "sentence": .text(sentence), "peak": .text(peak == 0 ? "none" : DisplayText.count(peak) + per),
            "layers": .list(layers(peak: max(1, peak))), "legend": .list(types.count > 1 ? legend : []),
            "from": .text(time(starts.first)), "until": .text(time(starts.last)),
            "columns": .list(heads), "figures": .list(figures), "hasFigures": .flag(peak > 0),
            "columnCount": .text(String(starts.count)),
        ]
    }

    private func sum(_ columns: [Int]) -> Int { subject.isLevel ? columns.last ?? 0 : columns.reduce(0, +) }

    /// The end of a sentence. Empty for levels.
    private var per: String { subject.isLevel ? "" : " in \(step)" }

    private var sentence: String {
        guard let peak = totals.max(), peak > 0, let index = totals.firstIndex(of: peak) else {
            return "\(subject.title) in the last \(span): none."
        }
        let total = DisplayText.count(sum(totals)) + (subject.isLevel ? " now" : " in total")
        let most = DisplayText.count(peak) + per
        return "\(subject.title) in the last \(span): \(total), most at \(time(starts[index])): \(most)."
    }

    private func layers(peak: Int) -> [TemplateContext] {
        let slot = Self.width / Double(starts.count)
        var below = [Int](repeating: 0, count: starts.count)
        return series.enumerated().compactMap { number, counts in
            var path = ""
            for (index, count) in counts.enumerated() where count > 0 {
                let (low, high) = (Double(below[index]), Double(below[index] + count))
                let scale = Self.height / Double(peak)
                let x = Double(index) * slot
                path += Self.path(x + slot * 0.1, Self.height - high * scale, slot * 0.8, (high - low) * scale)
                below[index] += count
            }
            return path.isEmpty ? nil : ["layer": .text(path), "layerNumber": .text(String(number + 1))]
        }
    }

    private static func path(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> String {
        String(format: "M%.1f %.1fh%.1fv%.1fh-%.1fz", x, y, width, height, width)
    }

    private var legend: [TemplateContext] {
        zip(types.indices, types).map { index, type in
            [
                "legendNumber": .text(String(index + 1)), "legendText": .text(type),
                "legendTotal": .text(DisplayText.count(sum(series[index]))),
            ]
        }
    }

    private var heads: [TemplateContext] { types.map { ["head": .text($0)] } }

    private var figures: [TemplateContext] {
        starts.indices.filter { totals[$0] > 0 }.map { index in
            [
                "figureTime": .text(time(starts[index])), "figureIndex": .text(String(index)),
                "figureCounts": .rows(series.map { ["figure": .text(DisplayText.count($0[index]))] }),
            ]
        }
    }

    /// `22:45`, with the day if the window has several.
    private func time(_ date: Date?) -> String {
        guard let date else { return "" }
        let text = DisplayText.clock(date)
        return statistics.window >= .seconds(86_400)
            ? String(text.dropFirst(5).prefix(11)) : String(text.suffix(8).prefix(5))
    }
}
