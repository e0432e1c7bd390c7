import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

extension HotCallTests {
    /// The last requests of a caller exceed its allowance.
    private static let allowance = RateLimit(rate: 10, burst: calls("").count + 1)

    private static let before = RFC3339.format(.minutesAgo(9))

    private static func calls(_ name: String) -> [[String]] {
        let environment = String(path.split(separator: "/").dropLast().joined(separator: "/"))
        return [
            put("a-\(name)", #"{"token":"aa01","aliases":{"liveactivityId":"\#(name)"}}"#),
            get("liveactivityId/\(name)/activities"),
            send("POST", "resolve", #"{"aliases":[{"kind":"liveactivityId","value":"\#(name)"}]}"#, "application/json"),
            put("a-\(name)", #"{"token":"aa01","aliases":{"userId":"somebody"}}"#),
            put("a-\(name)", #"{"token":"aa01","aliases":{"madeUp":"x"}}"#),
            put("a-\(name)", #"{"token":"aa02","installationId":"i-9"}"#),
            put("a-client", #"{"token":"aa05"}"#), put("a-\(name)", #"{"token":"aa00","observedAt":"\#(before)"}"#),
            put("a-\(name)", #"{"token":"#),
            put("a-\(name)", #"{"token":"aa01"}"#, type: "text/plain"),
            ["GET /v1/apps/com.example.none/sandbox/aliases/orderId/x/activities", "X-None: 1", ""],
            ["GET /v1/apps/com.example.drink/sandbox/aliases/orderId/x/activities", "X-None: 1", ""],
            ["GET /\(environment)/mars/aliases/orderId/x/activities", "X-None: 1", ""],
            ["PATCH \(path)/activities/a-1", "X-None: 1", ""],
            ["GET \(path)/nothing", "X-None: 1", ""],
            put("a-\(name)", ""),
            // If every request counts, the allowance is used up from here on.
            get("liveactivityId/\(name)/activities"), put("a-\(name)", #"{"token":"aa03"}"#),
        ] + Array(repeating: get("liveactivityId/\(name)/activities"), count: 4) + [
            put("a-\(name)", #"{"token":"aa04"}"#)
        ]
    }

    private static func callers() async throws -> [(name: String, fields: HTTPFields)] {
        try await server.acceptUsers()
        let (admin, client) = (try await server.key(.admin).fields, try await server.key(.client).fields)
        let user = HTTPFields.bearer(TestIssuer.honest.token(at: Date()))
        let forged = HTTPFields.bearer(TestIssuer.stranger.token(at: Date()))
        let sender = try await server.key(.sender).fields
        let mistyped: HTTPFields = [.authorization: String(sender[.authorization]!.dropLast()) + "?"]
        return [
            ("client", client), ("clientOfOne", client.on("i-1")), ("sender", sender),
            ("senderOfOne", sender.on("i-1")), ("auditor", try await server.key(.auditor).fields),
            ("admin", admin), ("root", try await server.key(.root).fields),
            ("stranger", try await server.key(.sender, of: "com.example.drink").fields),
            ("user", user), ("userOfOne", user.on("i-1")), ("forged", forged), ("mistyped", mistyped),
            ("nobody", [:]), ("two", sender + sender),
        ]
    }

    private static func answersToCallers(isCached: Bool) async throws -> [String] {
        let service = ServiceTrait.timedService {
            $0.keyRate = allowance
            if !isCached { $0.limits.appLifetime = .zero }
        }
        return try await service.run { server in
            _ = try await database.scope("com.example.drink")
            var answers: [String] = []
            for (name, fields) in try await callers() {
                let lines = fields.map { "\r\n\($0.name.rawName): \($0.value)" }.joined()
                for (number, call) in calls(name).enumerated() {
                    let text = text([call[0], call[1] + lines, call[2]], number, last: false)
                    let answer = normalized(try await server.answer(to: text, isAll: true))
                    answers.append("\(name): \(call[0]) \(call[2])\n" + answer)
                }
            }
            return answers
        }
    }

    @Test func `Callers get the same responses, allowances and refusals with and without caches`() async throws {
        let uncached = try await Self.answersToCallers(isCached: false)
        let cached = try await Self.answersToCallers(isCached: true)
        #expect(uncached.count == cached.count)
        for (uncached, cached) in zip(uncached, cached) { #expect(uncached == cached) }
        // The comparison must cover these cases.
        let all = cached.joined(separator: "\n")
        for expected in [
            "HTTP/1.1 200 ", "HTTP/1.1 201 ", "HTTP/1.1 409 ", "malformed-json", "unauthenticated", "forbidden",
            "unknown-app", "method-not-allowed", "no-such-route", "unsupported-media-type", "too-many-requests",
            "alias-not-allowed", "installation-required", "not-yours", "RateLimit: \"key\";r=0",
            "RateLimit: \"installation\"",
        ] { #expect(all.contains(expected), "\(expected)") }
    }
}
