import Foundation
import Testing

/// A sender that breaks one rule: the test of the examples can fail.
struct BrokenRule: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// A part of the example in Python, and what breaks it.
    let text: String
    let replacement: String
    /// Words of the fault that is found.
    let fault: String
    var scale = HourScale.short

    static let all = [
        BrokenRule(
            testDescription: "another JWT for each push",
            text: "> 45 * 60",
            replacement: "> 0",
            fault: "a second JWT came after"
        ),
        BrokenRule(
            testDescription: "a start that expires after its lease",
            text: "str(int(until))",
            replacement: "str(int(until) + 900_000)",
            fault: "after its lease"
        ),
        BrokenRule(
            testDescription: "no change feed",
            text: "tasks.create_task(follow(",
            replacement: "len((",
            fault: "should show"
        ),
        BrokenRule(
            testDescription: "a timestamp that stands still",
            text: #"max(int(clock()), work["stamp"] + 1)"#,
            replacement: "int(START)",
            fault: "a timestamp stood still"
        ),
        BrokenRule(
            testDescription: "a 410 that is not reported",
            text: "answers.put_nowait(",
            replacement: "answer.status_code != 410 and answers.put_nowait(",
            fault: "were reported",
            scale: .shortAndSure
        ),
        BrokenRule(
            testDescription: "another apns-id when a start is sent again",
            text: "lambda: fields | authorization()",
            replacement: #"lambda: fields | authorization() | {"apns-id": str(uuid.uuid4())}"#,
            fault: "was started twice"
        ),
    ]
}

/// The checks of a played hour find what they look for.
@Suite(.timeLimit(.minutes(10))) struct ControlTests {
    @Test("A sender that breaks a rule is found", arguments: BrokenRule.all)
    func findsBrokenRules(_ rule: BrokenRule) async throws {
        let directory = "/tmp/pushreg-hour-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        #expect(try Example.python.source.contains(rule.text))
        let broken = { (text: String) in text.replacingOccurrences(of: rule.text, with: rule.replacement) }
        guard let command = try await Example.python.command(in: directory, broken) else {
            print("left out: python3 with venv, or PyPI, is not to be had here")
            return
        }
        let hour = try await PlayedHour.play(command, in: directory, rule.scale)
        #expect(hour.faults.contains { $0.contains(rule.fault) }, "\(hour.faults) \(hour.log.suffix(2000))")
    }
}
