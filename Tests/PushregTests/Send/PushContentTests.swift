import Crypto
import Foundation
import RegistryCore
import Testing

@testable import pushreg

/// The body and signature of a push, and how an answer is understood.
@Suite struct PushContentTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000.9)

    private func content(_ event: PushContent.Event = .update) -> PushContent {
        var content = PushContent(event: event, priority: 10)
        content.state = ["minutes": 7]
        return content
    }

    @Test("A payload has whole seconds, and nothing that was not given") func payloadHasWholeSeconds() throws {
        var end = content(.end)
        end.dismissalDate = Self.now.addingTimeInterval(60)
        end.staleDate = Self.now.addingTimeInterval(30)
        #expect(
            try PushPayloads(end, nil, at: Self.now).running.jsonLine == """
                {"aps":{"timestamp":1800000000,"event":"end","content-state":{"minutes":7},"stale-date":1800000030,\
                "dismissal-date":1800000060}}
                """
        )
        #expect(
            try PushPayloads(content(), nil, at: Self.now).running.jsonLine
                == #"{"aps":{"timestamp":1800000000,"event":"update","content-state":{"minutes":7}}}"#
        )
    }

    @Test("A start's payload has the attributes, the alert, and asks for the token") func startPayload() throws {
        var content = content()
        content.alert = ["title": "Now"]
        let alias = try Alias(kind: "liveactivityId", value: "order-42")
        let request = PlanRequest(alias: alias, attributesType: try AttributesType("Delivery"))
        let start = ActivityStart(attributes: ["order": "42"], request: request)
        #expect(
            try PushPayloads(content, start, at: Self.now).start?.jsonLine == """
                {"aps":{"timestamp":1800000000,"event":"start","content-state":{"minutes":7},"alert":{"title":"Now"},\
                "attributes-type":"Delivery","attributes":{"order":"42"},"input-push-token":1}}
                """
        )
    }

    @Test("4096 bytes are taken, and one more is not") func payloadIsBounded() throws {
        var content = content()
        content.state = ["text": ""]
        let rest = 4096 - (try PushPayloads(content, nil, at: Self.now)).running.jsonBytes.count
        content.state = ["text": .string(String(repeating: "a", count: rest))]
        #expect(try PushPayloads(content, nil, at: Self.now).running.jsonBytes.count == 4096)
        content.state = ["text": .string(String(repeating: "a", count: rest + 1))]
        #expect(throws: CommandFailure.self) { try PushPayloads(content, nil, at: Self.now) }
    }

    @Test("The JWT is signed by the key with ES256, and names key and team") func jwtIsSigned() throws {
        let key = P256.Signing.PrivateKey()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pushreg-\(UUID()).p8")
        // As Apple's files end, and as Windows keeps lines.
        try Data(key.pemRepresentation.replacingOccurrences(of: "\n", with: "\r\n").utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let signing = try SigningKey(file: file.path, keyID: "ABC123DEFG", teamID: "TEAM123456")
        let parts = try signing.token(at: Self.now).revealed.split(separator: ".")
        let texts = parts.map { Base64URL.decode($0) ?? Data() }
        #expect(String(decoding: texts[0], as: UTF8.self) == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        #expect(String(decoding: texts[1], as: UTF8.self) == #"{"iss":"TEAM123456","iat":1800000000}"#)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: texts[2])
        #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test("An answer is read with its time and pause, and a text that is not APNs's is dropped") func answersAreRead() {
        let body = #"{"reason":"Unregistered","timestamp":1800000000500}"#
        let gone = APNSAnswer(status: 410, headers: ["apns-id": "5D1C-0A9E", "retry-after": "7"], body: body.utf8)
        #expect(gone.reason == "Unregistered" && gone.timestamp == Date(timeIntervalSince1970: 1_800_000_000.5))
        #expect(gone.apnsID == "5D1C-0A9E" && gone.retryAfter == .seconds(7))
        let body502 = #"{"reason":"<b>\u001b[31m /3/device/abcd</b>"}"#
        let foreign = APNSAnswer(status: 502, headers: ["apns-id": "a b", "retry-after": "-1"], body: body502.utf8)
        var plain = APNSAnswer(status: 502)
        #expect(foreign == plain)
        plain.reason = "x"
        #expect(foreign != plain)
    }

    @Test("429, 5xx and silence are tried again with a growing pause, all else is not") func triesAreFew() {
        func pause(_ answer: APNSAnswer, _ tries: Int) -> Duration? {
            PushTries.pause(after: .answered(answer), tries: tries, jitter: 1)
        }
        for status in [429, 500, 503] {
            let pauses = (1...4).map { pause(APNSAnswer(status: status), $0) }
            #expect(pauses == [.seconds(1), .seconds(2), .seconds(4), nil])
        }
        for status in [200, 400, 403, 410, 413] { #expect(pause(APNSAnswer(status: status), 1) == nil) }
        var busy = APNSAnswer(status: 503)
        busy.retryAfter = .seconds(9)
        #expect(pause(busy, 1) == .seconds(9))
        busy.retryAfter = .seconds(31)
        #expect(pause(busy, 1) == nil)
        var isTooEarly = APNSAnswer(status: 429)
        isTooEarly.reason = "TooManyProviderTokenUpdates"
        #expect(pause(isTooEarly, 1) == nil)
        #expect(
            PushTries.pause(after: .unanswered("", mayHaveArrived: true), tries: 1, jitter: 0) == .milliseconds(500)
        )
        #expect(PushTries.pause(after: .unanswered("", mayHaveArrived: false), tries: 1, jitter: 0) == nil)
    }
}
