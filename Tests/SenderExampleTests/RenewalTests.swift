import APNsStandIn
import Foundation
import NIOHTTP1
import TestSupport
import Testing

/// The example senders replace an activity before its end. In this test it ends after 20 seconds.
@Suite(.timeLimit(.minutes(10))) struct RenewalTests {
    private static let content = WantedContent(alias: "order-1", users: ["user-1"], number: 1, isEnd: false)

    @Test(arguments: Example.allCases)
    func `An example starts a new activity, and ends the old one when the new one is registered`(
        _ example: Example
    ) async throws {
        let directory = "/tmp/pushreg-renewal-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        guard let command = try await example.command(in: directory) else {
            print("left out \(example.rawValue): what it runs on is not to be had here")
            return
        }
        try await PlayedService.run(["activityLifetime": "PT20S"]) { service in
            let (starts, beginning) = AsyncStream.makeStream(of: ShownActivity.self)
            try await APNsStandIn.run(clock: APNsClock(speed: 10), onStart: { beginning.yield($0) }) { standIn in
                let phones = PlayedPhones(service, standIn)
                let began = Task { for await activity in starts { phones.run { try await $0.began(activity) } } }
                try await phones.install("phone-1")
                let settings = PlayedHour.environment(service, standIn).merging(["RENEW_BEFORE": "PT10S"]) { $1 }
                let program = try ExampleProgram.start(command, settings, log: directory + "/log")
                try program.write(Self.content.line)
                do { try await Self.follow(service, standIn) } catch { Issue.record("\(error): \(program.log)") }
                await program.stop()
                beginning.finish()
                await began.value
                try await phones.settle()
            }
        }
    }

    private static func follow(_ service: PlayedService, _ standIn: APNsStandIn) async throws {
        func shown() -> [ShownActivity] { standIn.read { $0.phones["phone-1"]?.activities.values.map { $0 } ?? [] } }
        try await until(.seconds(60)) { shown().count > 1 && shown().contains { $0.isEnded } }
        let activities = shown()
        #expect(activities.filter { !$0.isEnded }.map(\.content) == [content.state])
        let old = try #require(activities.first { $0.isEnded })
        try await until(.seconds(10)) {
            try await service.call(.GET, "activities/\(old.id)")["state"] as? String == "ended"
        }
        let reason = try await service.call(.GET, "activities/\(old.id)")["reason"] as? String
        #expect(reason == "ended")
        let events = standIn.model.records.filter { $0.answer.status == 200 }.compactMap(\.event)
        #expect(events.first == "start" && events.filter { $0 == "end" }.count == 1)
    }
}
