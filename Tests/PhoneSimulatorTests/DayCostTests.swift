import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct DayCostTests {
    @Test(arguments: Day.allCases) func `The costs of a day stay within its limits`(_ day: Day) async throws {
        try await Story.tell { story in
            let (costs, limits) = (try await DayPlayer(story).costs(of: day), day.limits)
            print("figure: a day of a phone, \(day.rawValue): \(costs)")
            #expect(limits.requests.contains(costs.requests.count), "\(story.life.network.diary.text)")
            #expect(limits.wakeUps.contains(costs.wakeUps))
            #expect(limits.writes.contains(costs.writes))
            let kilobytes = Double(costs.requestBytes) / 1000
            #expect(limits.kilobytes * 0.5...limits.kilobytes ~= kilobytes)
        }
    }

    @Test(arguments: Day.allCases) func `The guide's table lists each day with its costs`(_ day: Day) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let guide = root.appendingPathComponent("Sources/WebAssets/Documentation.docc/ForAppDevelopers.md")
        let lines = try String(contentsOf: guide.standardizedFileURL, encoding: .utf8).split(separator: "\n")
        #expect(lines.contains(Substring(day.limits.row(of: day))))
    }
}
