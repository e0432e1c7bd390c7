import APNsStandIn
import Foundation
import TestSupport

/// The results of an hour of one sender between the real service and ``APNsStandIn``.
struct PlayedHour: Sendable {
    let scale: HourScale
    let script: HourScript
    let model: APNsModel
    let phones: PlayedPhones
    let clock: APNsClock
    let reported: Int
    /// The time of each stored death, by the fingerprint of the token.
    let dropTimes: [String: Date]
    /// The tokens that the service delivers at the end.
    let deliverable: Set<String>
    let connections: Int
    let isShown: Bool
    let log: String

    static func play(_ command: [String], _ scale: HourScale = HourScale()) async throws -> PlayedHour {
        try await PlayedService.run { service in
            try await PlayedPhones.run(service, APNsClock(speed: scale.speed)) { phones in
                phones.standIn.setFaults { faults in
                    faults.goAwayAfter = scale.goAwayAfter
                    faults.resetEvery = scale.resetEvery
                    faults.unavailableEvery = 37
                    faults.tooManyEvery = 41
                    faults.answerDelay = .milliseconds(5)
                }
                let program = try RunningProgram.start(command, environment(phones))
                let script = HourScript(scale)
                let outcome: Result<PlayedHour, any Error>
                do {
                    try await play(script, program, phones)
                    outcome = .success(try await finish(script, program, phones, scale))
                } catch { outcome = .failure(error) }
                await program.kill()
                return try outcome.get()
            }
        }
    }

    static func environment(_ phones: PlayedPhones) -> [String: String] {
        let (service, standIn) = (phones.service, phones.standIn)
        return [
            "REGISTRY": service.address, "SENDER_KEY": service.senderKey, "APNS": standIn.address,
            "APNS_KEY": standIn.keyFile, "APNS_KEY_ID": standIn.key.keyID, "APNS_TEAM_ID": standIn.key.teamID,
            "CLOCK_SPEED": "\(standIn.clock.speed)", "CLOCK_START": "\(standIn.clock.start.timeIntervalSince1970)",
            "SSL_CERT_FILE": standIn.certificateFile, "NODE_EXTRA_CA_CERTS": standIn.certificateFile,
        ]
    }

    private static func play(_ script: HourScript, _ program: RunningProgram, _ phones: PlayedPhones) async throws {
        let clock = phones.standIn.clock
        for (minute, event) in script.events {
            let left = clock.start.addingTimeInterval(minute * 60).timeIntervalSince(clock.now)
            if left > 0 { try await Task.sleep(for: clock.pause(seconds: left)) }
            guard program.isRunning else { throw UnexpectedResponse(description: "the sender ended: \(program.text)") }
            switch event {
            case .content(let content): try program.write(content.line)
            case .install(let phone): phones.run { try await $0.install(phone) }
            case .rotate(let phone): phones.run { try await $0.rotate(phone) }
            case .disconnect(let phone): phones.standIn.change { $0.disconnect(phone) }
            case .connect(let phone): phones.standIn.connect(phone)
            case .dismiss(let phone): phones.run { try await $0.dismiss(phone) }
            case .uninstall(let phone): phones.uninstall(phone)
            }
        }
    }

    private static func finish(
        _ script: HourScript,
        _ program: RunningProgram,
        _ phones: PlayedPhones,
        _ scale: HourScale
    ) async throws -> PlayedHour {
        for phone in phones.standIn.read({ Array($0.phones.keys) }) { phones.standIn.connect(phone) }
        try await phones.settle()
        let standIn = phones.standIn
        var isShown = true
        do {
            try await until(scale.deadline) { standIn.read { script.differences($0, phones).isEmpty } }
        } catch { isShown = false }
        var model = standIn.model
        var reported = 0
        try? await until(scale.deadline) {
            (model, reported) = (standIn.model, try await phones.service.reportsOfDeadTokens())
            let dead = Set(deadAnswers(model).map(\.token))
            let deliverable = try await phones.service.tokens(under: Array(script.last.keys))
            return reported >= fewestReports(model, scale) && deliverable.isDisjoint(with: dead)
        }
        return PlayedHour(
            scale: scale,
            script: script,
            model: model,
            phones: phones,
            clock: standIn.clock,
            reported: reported,
            dropTimes: try await phones.service.dropTimes(),
            deliverable: try await phones.service.tokens(under: Array(script.last.keys)),
            connections: standIn.connections,
            isShown: isShown,
            log: program.text
        )
    }
}
