import APNsStandIn
import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

/// A sender that breaks one rule, to prove that the test can fail.
struct BrokenRule: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// A part of the Python example, and its replacement.
    let text: String
    let replacement: String
    /// Text of the expected fault.
    let fault: String
    let scale: HourScale

    init(_ name: String, _ text: String, _ replacement: String, _ fault: String, _ scale: HourScale = .short) {
        (testDescription, self.text, self.replacement, self.fault, self.scale) = (name, text, replacement, fault, scale)
    }

    private static let put = "answers.put_nowait("
    private static let old = #"page = work["page"] = work.get("page") or await call("POST", "plan", {"#
    private static let fields = "lambda: fields | authorization()"

    static let all = [
        BrokenRule("another JWT for each push", "> 45 * 60", "> 0", "a second JWT came after"),
        BrokenRule("a late expiry of a start", "str(int(until))", "str(int(until) + 900_000)", "after its lease"),
        BrokenRule("no change feed", "tasks.create_task(follow(", "len((", "should show"),
        BrokenRule("a timestamp that stays", #"max(int(clock()), work["stamp"] + 1)"#, "int(START)", "stood still"),
        BrokenRule("a 410 not reported", put, "answer.status_code != 410 and " + put, "were reported", .shortAndSure),
        BrokenRule("one plan for all content", #"page = await call("POST", "plan", {"#, old, "was planned"),
        BrokenRule(
            "another apns-id",
            fields,
            fields + #" | {"apns-id": str(uuid.uuid4())}"#,
            "was started twice",
            .shortAndUnsure
        ),
    ]
}

@Suite(.timeLimit(.minutes(10))) struct ControlTests {
    @Test(arguments: BrokenRule.all) func `A sender that breaks a rule is detected`(_ rule: BrokenRule) async throws {
        #expect(try Example.python.source.contains(rule.text))
        let broken = { (text: String) in text.replacingOccurrences(of: rule.text, with: rule.replacement) }
        try await Example.python.prepare(broken) { command in
            // A slow machine may leave too little time to break the rule.
            var hour = try await PlayedHour.play(command, rule.scale)
            for _ in 1..<3 where !hour.hasFault(rule.fault) { hour = try await PlayedHour.play(command, rule.scale) }
            #expect(hour.hasFault(rule.fault), "\(hour.faults) \(hour.log.suffix(2000))")
        }
    }
}

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
            try await until(.seconds(60)) { try await service.call(.get, "activities/\(old.id)")["state"] == "ended" }
            #expect(try await service.call(.get, "activities/\(old.id)")["reason"] == "ended")
        }
    }
}
