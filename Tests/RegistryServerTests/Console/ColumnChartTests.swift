import Foundation
import RegistryCore
import Testing

@testable import RegistryServer
@testable import RegistryStore

@Suite struct ColumnChartTests {
    private static let end = Date(timeIntervalSince1970: 1_700_000_040)

    private static func statistics(_ change: (inout RegistryStatistics) -> Void) -> RegistryStatistics {
        var statistics = RegistryStatistics(computedAt: end, window: .seconds(3600), step: .seconds(60))
        change(&statistics)
        return statistics
    }

    private static func step(_ minutesAgo: Double, _ counts: [String: Int]) -> RegistryStatistics.Step {
        RegistryStatistics.Step(start: end.addingTimeInterval(-60 * minutesAgo), counts: counts)
    }

    /// The chart's table: the column and its counts.
    private static func figures(_ chart: ColumnChart) -> [String] {
        chart.figures.map { ([$0.column] + $0.counts).map(String.init).joined(separator: " ") }
    }

    private static func chart(_ title: String, _ statistics: RegistryStatistics) throws -> ColumnChart {
        ColumnChart(try #require(ColumnChart.subjects.first { $0.title == title }), statistics)
    }

    @Test func `A level continues into the next column`() throws {
        let statistics = Self.statistics {
            $0.tokenCounts = [
                Self.step(65, ["update": 1]), Self.step(50, ["update": 8, "start": 2]), Self.step(48, ["update": 5]),
                Self.step(20, [:]), Self.step(5, ["update": 2]),
            ]
            $0.tokens = [TokenKind.update, .start, .device, .widget].map {
                RegistryStatistics.Tokens(kind: $0, count: $0 == .update ? 3 : 0, ages: [])
            }
        }
        let chart = try Self.chart("Live tokens", statistics)
        // From 60 minutes ago: the count from five minutes before the window, a gap, two counts of ten minutes each, an
        // empty count, the last count, and the current value.
        let expected =
            (0...4).map { "\($0) 1 0 0 0" } + (10...11).map { "\($0) 8 2 0 0" } + (12...21).map { "\($0) 5 0 0 0" }
            + (55...59).map { "\($0) 2 0 0 0" } + ["60 3 0 0 0"]
        #expect(Self.figures(chart) == expected)
        #expect(chart.total == 3)
        #expect(chart.peak == "10")
        let sentence = chart.sentence
        #expect(sentence.hasPrefix("Live tokens in the last 1 h: 3 now, most at ") && sentence.hasSuffix(": 10."))
        #expect(chart.legend.map(\.total) == [3, 0, 0, 0])
    }

    @Test func `Events count in their own column`() throws {
        let statistics = Self.statistics {
            $0.steps = [Self.step(60, ["registered": 1]), Self.step(2, ["registered": 4, "reactivated": 2])]
        }
        let chart = try Self.chart("Registrations", statistics)
        #expect(Self.figures(chart) == ["0 1 0", "58 4 2"])
        #expect(chart.total == 7)
        #expect(chart.sentence.contains("7 in total, most at"))
        let nothing = try Self.chart("Live tokens", statistics)
        #expect(nothing.sentence == "Live tokens in the last 1 h: none.")
    }
}
