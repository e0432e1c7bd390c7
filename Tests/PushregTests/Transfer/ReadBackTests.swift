import Foundation
import RegistryCore
import TestSupport
import Testing

/// Every call and page returns accepted values unchanged, also after an export and an import.
@Suite(.transferToTarget, .serialized, .timeLimit(.minutes(60))) struct ReadBackTests {
    private static let rounds = TestScale.isLong ? 3000 : 200

    @Test func `Accepted values survive a round trip`() async throws {
        let seed = SeededGenerator.firstSeed()
        print("ReadBackTests: PUSHREG_TEST_SEED=\(seed)")
        let service = try await ServiceProcess.start(on: database, "--request-timeout", "PT30S")
        var conversation = Conversation(service: service, seed: seed)
        for _ in 0..<Self.rounds { try await conversation.continue() }
        try await conversation.readEverything()
        await service.stop()
        try await Self.transfer(conversation.said)
    }

    private static func transfer(_ said: [UTF8Text: Conversation.Said]) async throws {
        let (first, second) = (file, try TransferFile())
        defer { second.remove() }
        try await first.export(from: database)
        var unseen = said
        for line in lines(of: first) {
            let record = try JSONParser.parse(line)
            if record["frequentPushesEnabled"] != nil { #expect(record["pushType"] == "channel") }
            guard let id = record["activityId"]?.string, let said = unseen.removeValue(forKey: UTF8Text(id)) else {
                continue
            }
            #expect(record["metadata"]?.canonicalBytes == said.metadata?.canonicalJSON, "\(id)")
            #expect(record["aliases"]?.canonicalBytes == said.aliases?.canonicalJSON, "\(id)")
        }
        #expect(unseen.isEmpty)
        let loaded = try await first.load(into: target)
        #expect(loaded.results.contains(#""refused":{},"faulty":0"#), "\(loaded.results) \(loaded.words.suffix(2000))")
        try await second.export(from: target)
        // Bytes, because `String` treats some different texts as equal. Outside the expectation, which would compute a
        // difference of thousands of lines.
        let (before, after) = (Set(lines(of: first)), Set(lines(of: second)))
        let difference = before.symmetricDifference(after).map { String(decoding: $0, as: UTF8.self) }
            .filter { !isEndOfServersMaking($0) }.prefix(4)
        #expect(difference.isEmpty)
    }

    /// Whether a line is the end of an activity that had only a name and has started again. The target does not export
    /// it, because it cannot know whether a client received the id.
    private static func isEndOfServersMaking(_ line: String) -> Bool {
        line.contains(/"record":"end","activityId":"[0-9a-f]{12}-[0-9a-f]{16}"/)
    }

    private static func lines(of file: TransferFile) -> [[UInt8]] {
        Array(file.text.utf8).split(separator: UInt8(ascii: "\n")).map(Array.init)
            .filter { $0.starts(with: #"{"record":"#.utf8) }
    }

    @Test func `The times of one record do not change another`() async throws {
        let service = try await ServiceProcess.start(on: database, "--request-timeout", "PT30S")
        let times = [
            "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000001Z", "1970-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999Z",
        ]
        try await concurrently(0..<120) { number in
            let path = "\(ServiceProcess.app)/activities/a-\(number)"
            let token = String(format: "%064x", number + 1)
            guard number.isMultiple(of: 3) else {
                let answer = try await service.call("PUT", path, #"{"token":"\#(token)"}"#)
                #expect(answer.status == 201, "\(answer.body)")
                return
            }
            let (observed, started) = (times[number / 3 % 4], times[number / 12 % 4])
            let body = #"{"token":"\#(token)","observedAt":"\#(observed)","startedAt":"\#(started)"}"#
            let answer = try await service.call("PUT", path, body)
            #expect([201, 410, 422].contains(answer.status), "\(answer.body)")
        }
        await service.stop()
    }
}
