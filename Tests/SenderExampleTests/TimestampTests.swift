import APNsStandIn
import Foundation
import TestSupport
import Testing

/// Phones drop a push that is older than the last one. If a sender's timestamps ran ahead of the clock, the phones would
/// drop its pushes after a restart.
@Suite(.timeLimit(.minutes(10))) struct TimestampTests {
    @Test(arguments: Example.allCases)
    func `A timestamp is not ahead of the clock if contents come faster than seconds`(_ example: Example) async throws {
        try await example.prepare { command in
            try await PlayedService.run { service in
                try await PlayedPhones.run(service, APNsClock(speed: 10)) { phones in
                    try await phones.install("phone-1")
                    let program = try RunningProgram.start(command, PlayedHour.environment(phones))
                    do { try await Self.write(to: program, phones.standIn) } catch {
                        Issue.record("\(error): \(program.text)")
                    }
                    await program.kill()
                    try await phones.settle()
                    let records = phones.standIn.model.records
                    let ahead = records.map { Double($0.timestamp ?? 0) - $0.at.timeIntervalSince1970 }
                    #expect(ahead.allSatisfy { $0 < 0.5 }, "\(ahead)")
                }
            }
        }
    }

    private static func write(to program: RunningProgram, _ standIn: APNsStandIn) async throws {
        for number in 1...8 {
            let content = WantedContent(alias: "order-1", users: ["user-1"], number: number, isEnd: false)
            try program.write(content.line)
            try await until { standIn.read { $0.phones["phone-1"]?.activities.values.first?.content == content.state } }
        }
    }
}
