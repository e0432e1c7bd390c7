import HTTPTypes
import NIOCore
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.shared(.service), .timeLimit(.minutes(15))) struct FeedbackStreamTests {
    private static let path = "/v1/apps/com.example.food/sandbox/feedback"
    private static let head =
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n"

    private static func line(_ token: Int, _ status: Int) -> String {
        return #"{"token":"\#(PushToken.sample(token).hexadecimal)","status":\#(status)}"# + "\n"
    }

    private static func chunk(_ text: String) -> String { String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n" }

    private static func send(_ text: String) async throws -> Reply {
        try await server.send(.post, "…/feedback", Array(text.utf8), [.contentType: "application/x-ndjson"])
    }

    @Test func `Large reports get complete results in order`() async throws {
        for number in 11...13 { try await server.register("a-\(number)", token: number) }
        let known = [17: 11, 10_000: 12, 19_999: 13]
        let text = (0..<20_000).map { Self.line(known[$0] ?? 1000 + $0, 200) }.joined()
        let reply = try await Self.send(text)
        let lines = reply.lines
        #expect(reply.status == 200 && reply.fields[.contentType] == "application/x-ndjson")
        #expect(lines.last == ["end": true, "count": 20_000])
        let delivered = lines.indices.filter { lines[$0]["action"] == "delivered" }
        #expect(delivered == [17, 10_000, 19_999])
        #expect(lines.dropLast().count { $0["action"] == "unknown" } == 19_997)
    }

    @Test func `A malformed report gets a problem in its position`() async throws {
        try await server.register("a-1", token: 1)
        let long = String(repeating: " ", count: LineSplitter.maximumLine) + "{}\n"
        let inSeconds = Self.line(1, 410).replacing("}", with: #","timestamp":1795702129}"#)
        let faulty = "nonsense\n\r\n" + #"{"token":"xyz"}"# + "\n" + inSeconds + long
        let text = Self.line(1, 200) + faulty + Self.line(1, 410)
        let reply = try await Self.send(String(text.dropLast()))
        let lines = reply.lines
        #expect(reply.status == 200)
        let codes = lines.map { $0["problem"]?["code"] ?? $0["action"] ?? .null }
        let expected: [JSONValue] = [
            "delivered", "malformed-json", "invalid-request", "invalid-request", "body-too-large", "dropped", .null,
        ]
        #expect(codes == expected)
        #expect(lines[2]["problem"]?["errors"]?.all("pointer") == ["/token", "/status"])
        #expect(lines[3]["problem"]?["errors"]?.all("pointer") == ["/timestamp"])
        #expect(lines.last == ["end": true, "count": 6])
    }

    @Test func `Results are sent while reports still arrive`() async throws {
        let connection = try RawConnection(port: server.port, sending: Self.head + Self.chunk(Self.line(91, 200)))
        let first = await connection.read(until: "}\n\r\n")
        #expect(first.hasPrefix("HTTP/1.1 200 "))
        #expect(first.contains(#""action":"unknown""#))
        for _ in 0..<3 {
            connection.send(Self.chunk(Self.line(92, 200)))
            #expect(await connection.read(until: "}\n\r\n").contains(#""action":"unknown""#))
        }
        connection.send("0\r\n\r\n")
        #expect(await connection.read(until: "0\r\n\r\n").contains(#"{"end":true,"count":4}"#))
    }

    @Test(.secureService) func `A stream ends when its key is revoked`() async throws {
        let (admin, sender) = (try await server.key(.admin), try await server.key(.sender))
        let credential = "Authorization: \(sender.fields[.authorization] ?? "")\r\nHost:"
        let head = Self.head.replacing("Host:", with: credential)
        let connection = try RawConnection(port: server.port, sending: head + Self.chunk(Self.line(91, 200)))
        #expect(await connection.read(until: "}\n\r\n").contains(#""action":"unknown""#))
        let path = "/v1/apps/com.example.food/keys/\(sender.id)"
        #expect(try await server.call(.delete, path, nil, admin.fields).status == 204)
        connection.send(Self.chunk(Self.line(92, 410)))
        #expect(await connection.read() == "")
    }

    /// Postgres needs some of the deadline for the first line.
    @Test(.service { ($0.limits.requestDeadline, $0.limits.idleTimeout) = (.seconds(3), .seconds(600)) })
    func `A stalled sender is disconnected`() async throws {
        let silent = try RawConnection(port: server.port, sending: Self.head + "1\r\n{\r\n")
        async let nothing = silent.read()
        let stalled = try RawConnection(port: server.port, sending: Self.head + Self.chunk(Self.line(91, 200)))
        #expect(await stalled.read(until: "}\n\r\n").contains(#""action":"unknown""#))
        stalled.send("1\r\n{\r\n")
        let answer = await stalled.read()
        let first = await nothing
        #expect(first.isEmpty || first.hasPrefix("HTTP/1.1 408 "))
        #expect(!answer.contains(#""end""#) && !answer.hasSuffix("0\r\n\r\n"))
    }

    /// Only a call that reads its body itself has no total deadline.
    @Test func `Lines for another call are refused, and an empty stream gets only the end line`() async throws {
        #expect(try await Self.send("").lines == [["end": true, "count": 0]])
        let fields: HTTPFields = [.contentType: "application/x-ndjson"]
        let reply = try await server.send(.post, "…/resolve", Array("{}\n".utf8), fields)
        #expect(reply.problem == "unsupported-media-type")
    }
}

@Suite struct LineSplitterTests {
    @Test(arguments: [1, 2, 3, 7, 100]) func `Lines do not depend on the size of the received parts`(_ size: Int) {
        var splitter = LineSplitter()
        let bytes = Array("one\n\n  \r\ntwo\r\nthree".utf8)
        var lines: [BodyLine] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            lines += splitter.add(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
        }
        if let last = splitter.finish() { lines.append(last) }
        #expect(lines == ["one", "two\r", "three"].map { .text(Array($0.utf8)) })
        #expect(splitter.finish() == nil)
    }

    @Test func `A line may be as long as the limit`() {
        var splitter = LineSplitter()
        let line = [UInt8](repeating: 0x78, count: LineSplitter.maximumLine)
        #expect(splitter.add(ByteBuffer(bytes: line + [0x0A])) == [.text(line)])
        #expect(splitter.add(ByteBuffer(bytes: line)) == [])
        #expect(splitter.add(ByteBuffer(bytes: [0x78, 0x0A, 0x79, 0x0A])) == [.tooLong, .text([0x79])])
    }
}

@Suite(.timeLimit(.minutes(15))) struct FeedbackRecorderTests {
    private let metrics = RecordedMetrics()
    private let clock = ManualClock()
    private let log = RecordedLog()

    private var recorder: FeedbackRecorder {
        FeedbackRecorder(clock: clock.clock, logger: log.logger, metrics: metrics)
    }

    @Test func `Unknown reasons are counted as other`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        let reports = [
            FeedbackReport(token: .sample(1), status: 400, reason: "BadDeviceToken"),
            FeedbackReport(token: .sample(2), status: 400, reason: "BadDeviceToken"),
            FeedbackReport(token: .sample(3), status: 400, reason: "ReasonOfTomorrow"),
            FeedbackReport(token: .sample(4), status: 403, reason: "BadEnvironmentKeyInToken"),
            FeedbackReport(token: .sample(5), status: 200),
        ]
        let outcome = try await database.registry.apply(reports, in: scope, by: "test")
        recorder.record(outcome, of: reports, in: scope)
        #expect(count("BadDeviceToken") == 2 && count("other") == 1 && count("none") == 1)
        #expect(count("BadEnvironmentKeyInToken") == 1)
        #expect(log.lines == [])
    }

    @Test func `A guard that trips is counted, and logged once a minute`() async throws {
        let (database, scope) = try await TestDatabase.withScope()
        for number in 1...10 {
            try await database.registry.registerSample("a\(number)", token: number, minutesAgo: 5, in: scope)
        }
        let reports = (1...10).map { FeedbackReport(token: .sample($0), status: 400, reason: "BadDeviceToken") }
        let outcome = try await database.registry.apply(reports, in: scope, by: "test")
        #expect(outcome.trippedKinds == ["update"])
        let recorder = recorder
        recorder.record(outcome, of: reports, in: scope)
        recorder.record(outcome, of: reports, in: scope)
        #expect(metrics.counter(.guardTrips).value == 2)
        #expect(log.lines.count == 1)
        let token = PushToken.sample(1).hexadecimal
        #expect(log.lines[0].contains("com.example.food") && !log.lines[0].contains(token.prefix(16)))
        clock.advance(by: .seconds(60))
        recorder.record(outcome, of: reports, in: scope)
        #expect(log.lines.count == 2)
        #expect(try await database.registry.quarantineGuards(of: scope.app).map(\.kind) == ["update"])
    }

    private func count(_ reason: String) -> Int {
        metrics.counter(.feedback, [("action", "unknown"), ("reason", reason)]).value
    }
}
