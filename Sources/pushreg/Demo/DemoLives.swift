import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RegistryCore

/// The scenes of the demo. Each shows its calls with their responses, and checks them.
struct DemoLives: Sendable {
    let base: String
    let key: Secret?
    /// The number of phones under one alias.
    let crowd: Int
    let client: HTTPClient
    /// Keeps the ids of two runs on one service apart.
    private let run = String(UInt32.random(in: .min ... .max), radix: 16)
    private let start = Date().addingTimeInterval(-600)

    private static let app = "/v1/apps/com.example.food"

    static func play(on base: String, key: Secret? = nil, crowd: Int) async throws {
        var configuration = HTTPClient.Configuration(timeout: .init(connect: .seconds(5)))
        // Otherwise the client retries a refused connection for half a minute.
        configuration.connectionPool.retryConnectionEstablishment = false
        try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            try await DemoLives(base: base, key: key, crowd: crowd, client: client).play()
        }
    }

    private func play() async throws {
        try Output.results.line("The app com.example.food, in sandbox:")
        try await call("PUT", Self.app, [:], gives: ["bundleId": "com.example.food"], "the app exists")
        try await normalLife()
        try await rotationAndLateRetry()
        try await takeover()
        try await swipeWhileTheAppWasDead()
        try await manyUnderOneAlias()
        try await deadToken()
        try Output.results.line("\nAll responses are as expected.")
    }

    private func normalLife() async throws {
        try Output.results.line("\n1. A normal life: register, find it by its alias, confirm, end.")
        let (path, alias, token) = (activity("order"), named("liveactivityId", "order"), token())
        let body = registration(token, minute: 0, ["liveactivityId": .string(id("order"))])
        try await call("PUT", path, body, gives: ["outcome": "registered"], "the first token is registered")
        try await call("GET", alias, gives: ["activities": [["token": token]]], "a sender finds it")
        try await call("PUT", path, body, gives: ["outcome": "refreshed"], "a repetition only confirms it")
        try await call("DELETE", path, gives: .null, "it ends")
        try await call("GET", alias, gives: ["activities": []], "senders get no token any more")
    }

    private func rotationAndLateRetry() async throws {
        try Output.results.line("\n2. A rotation, and late uploads.")
        let (path, old, new) = (activity("ride"), token(), token())
        let (first, second) = (registration(old, minute: 0), registration(new, minute: 1))
        try await call("PUT", path, first, gives: ["outcome": "registered"], "the first token is registered")
        try await call("PUT", path, second, gives: ["outcome": "rotated"], "the new token replaces the old one")
        try await call("PUT", path, first, gives: ["code": "superseded"], "a late retry of the old token is refused")
        try await call("DELETE", path, gives: .null, "it ends")
        let late = registration(new, minute: 2)
        try await call("PUT", path, late, gives: ["code": "activity-ended"], "an ended activity stays ended")
    }

    private func takeover() async throws {
        try Output.results.line("\n3. A takeover: another activity registers the token.")
        let (first, second, token) = (activity("first"), activity("second"), token())
        let (earlier, later) = (registration(token, minute: 0), registration(token, minute: 1))
        try await call("PUT", first, earlier, gives: ["outcome": "registered"], "the first activity has the token")
        try await call("PUT", second, later, gives: ["outcome": "registered"], "the second activity registers it")
        try await call("GET", first, gives: ["reason": "taken-over"], "the earlier activity loses the token")
        try await call("GET", second, gives: ["token": token], "the later activity has the token")
    }

    private func swipeWhileTheAppWasDead() async throws {
        try Output.results.line("\n4. A dismissal while the app is closed: its next launch sends a full state.")
        let (path, phone, token) = (activity("gone"), id("phone"), token())
        var body = registration(token, minute: 0, ["orderId": .string(id("gone"))])
        body["installationId"] = .string(phone)
        try await call("PUT", path, body, gives: ["outcome": "registered"], "the token is registered")
        let state: JSONObject = ["observedAt": time(1), "activities": []]
        let (list, ended) = ("\(Self.app)/sandbox/installations/\(phone)/activities", JSONValue.string(id("gone")))
        try await call("PUT", list, state, gives: ["ended": [ended]], "the full state ends the missing activity")
        try await call("GET", named("orderId", "gone"), gives: ["activities": []], "senders do not get it")
        let again = registration(token, minute: 2)
        try await call("PUT", path, again, gives: ["outcome": "reactivated"], "a later observation brings it back")
    }

    private func manyUnderOneAlias() async throws {
        try Output.results.line("\n5. \(crowd) activities under one alias, streamed.")
        let (alias, clock) = (named("matchId", "match"), ContinuousClock())
        let registering = try await clock.measure { try await registerCrowd() }
        try Output.results.line("  \(crowd) registrations in \(seconds(registering))")
        try Output.results.line("  → GET \(alias)  Accept: application/x-ndjson")
        let start = clock.now
        let stream = try await send("GET", alias, accepting: "application/x-ndjson").body
        let lines = stream.readableBytesView.split(separator: UInt8(ascii: "\n"))
        let last = lines.last.map { String(decoding: $0, as: UTF8.self) } ?? ""
        try Output.results.line("  ← \(lines.count) lines in \(seconds(clock.now - start)), the last one \(last)")
        let isWhole = last == "{\"end\":true,\"count\":\(crowd)}" && lines.count == crowd + 2
        try expect(isWhole, "the stream has every activity and its end")
        try await call("DELETE", alias, gives: ["ended": .integer(Int64(crowd))], "one call ends them all")
    }

    private func registerCrowd() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<crowd {
                if number >= 64 { try await group.next() }
                let body: JSONObject = ["token": token(), "aliases": ["matchId": .string(id("match"))]]
                group.addTask {
                    let status = try await send("PUT", activity("match-\(number)"), body).status
                    guard status == 201 else {
                        throw CommandFailure(.failed, "A registration for part 5 failed with status \(status).")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func deadToken() async throws {
        try Output.results.line("\n6. Feedback: APNs responds to a push with 410, and the sender reports it.")
        let (path, alias, token) = (activity("dead"), named("liveactivityId", "dead"), token())
        let body = registration(token, minute: 0, ["liveactivityId": .string(id("dead"))])
        try await call("PUT", path, body, gives: ["outcome": "registered"], "the token is registered")
        let report: JSONObject = ["reports": [["token": token, "status": 410, "reason": "Unregistered"]]]
        let dropped: JSONValue = ["results": [["action": "dropped"]]]
        try await call("POST", "\(Self.app)/sandbox/feedback", report, gives: dropped, "the token is dead")
        try await call("GET", alias, gives: ["activities": []], "senders do not get it")
        try await call("PUT", path, body, gives: ["code": "token-unregistered"], "a late retry is refused")
    }

    private func seconds(_ duration: Duration) -> String { String(format: "%.2f s", duration / .seconds(1)) }
    private func id(_ name: String) -> String { "\(name)-\(run)" }
    private func activity(_ name: String) -> String { "\(Self.app)/sandbox/activities/\(id(name))" }

    private func named(_ kind: String, _ name: String) -> String {
        "\(Self.app)/sandbox/aliases/\(kind)/\(id(name))/activities"
    }

    private func time(_ minute: Int) -> JSONValue {
        .string(RFC3339.format(start.addingTimeInterval(Double(minute) * 60)))
    }

    private func token() -> JSONValue {
        .string(Hexadecimal.encode((0..<80).map { _ in UInt8.random(in: .min ... .max) }))
    }

    private func registration(_ token: JSONValue, minute: Int, _ aliases: JSONObject = [:]) -> JSONObject {
        var body: JSONObject = ["token": token, "observedAt": time(minute)]
        if !aliases.isEmpty { body["aliases"] = .object(aliases) }
        return body
    }

    private func expect(_ isTrue: Bool, _ sentence: String) throws(CommandFailure) {
        guard isTrue else { throw CommandFailure(.failed, "Not as expected: \(sentence).") }
        try Output.results.line("    \(sentence).")
    }

    /// - Parameter expected: members of the response's body, or null for an empty body.
    private func call(
        _ method: String,
        _ path: String,
        _ body: JSONObject? = nil,
        gives expected: JSONValue,
        _ sentence: String
    ) async throws {
        try Output.results.line("  → \(method) \(path)\(Self.text(body))")
        let (status, bytes) = try await send(method, path, body)
        let reply = try? JSONParser.parse(bytes.readableBytesView)
        try Output.results.line("  ← \(status)\(Self.text(reply))")
        try expect((reply ?? .null).has(expected), sentence)
    }

    /// With short tokens.
    private static func text(_ body: (some JSONEncodable)?) -> String {
        guard let body else { return "" }
        let token = #/("token":"[0-9a-f]{4})[0-9a-f]{5,}([0-9a-f]{4}")/#
        return " " + body.jsonLine.replacing(token) { "\($0.1)…\($0.2)" }
    }

    /// Retries after a 503, which is always safe (R1).
    private func send(
        _ method: String,
        _ path: String,
        _ body: JSONObject? = nil,
        accepting type: String? = nil
    ) async throws -> (status: Int, body: ByteBuffer) {
        var request = HTTPClientRequest(url: base + path)
        request.method = .RAW(value: method)
        if let type { request.headers.add(name: "Accept", value: type) }
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key.revealed)") }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body.jsonBytes))
        }
        do {
            var response = try await client.execute(request, timeout: .seconds(60))
            for _ in 0..<5 where response.status == .serviceUnavailable {
                try await Task.sleep(for: .seconds(1))
                response = try await client.execute(request, timeout: .seconds(60))
            }
            try check(response.status)
            return (Int(response.status.code), try await response.body.collect(upTo: 1 << 24))
        } catch let failure as CommandFailure {
            throw failure
        } catch let error where !Task.isCancelled {
            let reason = (error as? IOError).map { ": " + String(cString: strerror($0.errnoCode)) } ?? ""
            throw CommandFailure(.unavailable, "No service answers at \(base)\(reason).")
        }
    }

    private func check(_ status: HTTPResponseStatus) throws(CommandFailure) {
        switch status {
        case .serviceUnavailable:
            throw CommandFailure(.unavailable, "The service at \(base) has no database: it keeps responding with 503.")
        case .unauthorized, .forbidden:
            throw CommandFailure(
                .notPermitted,
                "The service at \(base) must run with --insecure-no-auth, or PUSHREG_KEY must be an admin key of com.example.food."
            )
        default: break
        }
    }
}

extension JSONValue {
    /// Whether it has all members of `expected`, also in its arrays.
    fileprivate func has(_ expected: JSONValue) -> Bool {
        switch (self, expected) {
        case (.object(let own), .object(let members)):
            members.allSatisfy { own[$0.key]?.has($0.value) == true }
        case (.array(let own), .array(let elements)):
            own.count == elements.count && zip(own, elements).allSatisfy { $0.has($1) }
        default: self == expected
        }
    }
}
