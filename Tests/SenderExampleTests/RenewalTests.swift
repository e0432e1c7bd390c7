import APNsStandIn
import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

/// The example senders replace an activity before its end. In this test it ends after 20 seconds.
@Suite(.timeLimit(.minutes(10))) struct RenewalTests {
    private static let content = WantedContent(alias: "order-1", users: ["user-1"], number: 1, isEnd: false)

    @Test(arguments: Example.allCases)
    func `An example starts a new activity, and ends the old one when the new one is registered`(
        _ example: Example
    ) async throws {
        try await example.prepare { command in
            try await PlayedService.run(activityLifetime: .seconds(20)) { service in
                try await PlayedPhones.run(service, APNsClock(speed: 10)) { phones in
                    try await phones.install("phone-1")
                    let settings = PlayedHour.environment(phones).merging(["RENEW_BEFORE": "PT10S"]) { $1 }
                    let program = try RunningProgram.start(command, settings)
                    try program.write(Self.content.line)
                    do { try await Self.follow(service, phones.standIn) } catch {
                        Issue.record("\(error): \(program.text)")
                    }
                    await program.kill()
                    try await phones.settle()
                }
            }
        }
    }

    private static func follow(_ service: PlayedService, _ standIn: APNsStandIn) async throws {
        @Sendable func shown(_ model: APNsModel) -> [ShownActivity] {
            model.phones["phone-1"]?.activities.values.map { $0 } ?? []
        }
        try await until(.seconds(60)) { standIn.read { shown($0).contains { $0.isEnded } } }
        let model = standIn.model
        // On a slow machine, the new activity may also have a successor already.
        let (ended, running) = (shown(model).filter(\.isEnded), shown(model).filter { !$0.isEnded })
        #expect(!running.isEmpty && running.allSatisfy { $0.content == content.state })
        let events = model.records.filter { $0.answer.status == 200 }.compactMap(\.event)
        #expect(events.first == "start" && events.filter { $0 == "end" }.count == ended.count)
        for old in ended {
            try await until(.seconds(60)) {
                try await service.call(.get, "activities/\(old.id)")["state"] == "ended"
            }
            #expect(try await service.call(.get, "activities/\(old.id)")["reason"] == "ended")
        }
    }
}
