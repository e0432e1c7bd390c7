import NIOHTTP1
import RegistryCore

extension DemoStage {
    /// How many registrations are under way at a time.
    private static let concurrency = 64

    /// Very many phones follow one match, and a sender gets them all in one stream.
    func crowd(of size: Int) async throws {
        let alias = "match-\(run)"
        try screen.begin(
            "6. A crowd",
            "\(size) phones follow one match, with the call that needs no more than a token and a name."
        )
        let tokens = Set((0..<size).map { _ in makeToken() })
        try await registerCrowd(tokens, under: alias)
        try await streamCrowd(tokens, under: alias)
        let all = Expectation.answer(
            200,
            ["ended": .integer(Int64(size))],
            "The match is over: all of them end at once."
        )
        try await play(.DELETE, activities(under: alias), expecting: all)
    }

    private func registerCrowd(_ tokens: Set<String>, under alias: String) async throws {
        let calls = tokens.map { crowdCall($0, under: alias) }
        if let first = calls.first { try screen.show(first) }
        try screen.say("… and so on, \(Self.concurrency) at a time.")
        let duration = try await ContinuousClock().measure { try await sendAll(calls) }
        try screen.confirm("All \(calls.count) are registered: \(Self.rate(calls.count, in: duration)).")
    }

    private func crowdCall(_ token: String, under alias: String) -> DemoCall {
        let phone = "phone-\(Self.randomHex(bytes: 16))"
        return DemoCall(
            method: .POST,
            path: path("activities"),
            body: ["token": .string(token), "alias": .string(alias), "installationId": .string(phone)]
        )
    }

    private func sendAll(_ calls: [DemoCall]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, call) in calls.enumerated() {
                if index >= Self.concurrency { try await group.next() }
                group.addTask { try await expectCreated(call) }
            }
            try await group.waitForAll()
        }
    }

    private func expectCreated(_ call: DemoCall) async throws {
        let answer = try await client.send(call)
        guard answer.status != .created else { return }
        throw CommandFailure(.failed, "A phone of the crowd got \(answer.status.code), not 201.")
    }

    private func streamCrowd(_ tokens: Set<String>, under alias: String) async throws {
        let call = DemoCall(method: .GET, path: activities(under: alias))
        try screen.show(call)
        try screen.say("  Accept: application/x-ndjson")
        var crowd = StreamedCrowd()
        var status = HTTPResponseStatus.ok
        let duration = try await ContinuousClock().measure {
            status = try await client.stream(call) { crowd.take($0) }
        }
        try check(
            crowd.difference(from: tokens, under: alias, status: status),
            "The stream has a head, an activity a line with each token once, and an end with their count.",
            of: status
        )
        try screen.confirm("\(crowd.lineCount) lines came: \(Self.rate(tokens.count, in: duration)).")
    }

    private static func rate(_ count: Int, in duration: Duration) -> String {
        let seconds = max(duration / .seconds(1), 0.001)
        let rounded = (seconds * 100).rounded() / 100
        return "\(rounded) s, \(Int(Double(count) / seconds)) a second"
    }
}

/// What came in a stream, line by line.
private struct StreamedCrowd {
    private(set) var lineCount = 0
    private var head: JSONValue?
    private var end: JSONValue?
    private var tokens: Set<String> = []
    private var activityCount = 0

    mutating func take(_ line: JSONValue) {
        lineCount += 1
        if head == nil {
            head = line
        } else if let token = line["token"]?.text {
            tokens.insert(token)
            activityCount += 1
        } else {
            end = line
        }
    }

    /// What is wrong, or nil when nothing is.
    func difference(from expected: Set<String>, under alias: String, status: HTTPResponseStatus) -> String? {
        guard status == .ok else { return "the status is \(status.code), not 200" }
        guard head?["alias"]?["value"] == .string(alias) else { return "the first line does not name the alias" }
        guard end == ["end": true, "count": .integer(Int64(expected.count))] else {
            return "the last line is \(end?.description ?? "missing")"
        }
        guard activityCount == expected.count, tokens == expected else {
            return "\(activityCount) activities with \(tokens.count) tokens came, not \(expected.count)"
        }
        return nil
    }
}
