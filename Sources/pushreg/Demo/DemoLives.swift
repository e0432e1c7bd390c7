import Foundation
import RegistryCore

/// The scenes of the demo. Each announces the next responses and checks them. `crowd` is the number of phones under one
/// alias.
struct DemoLives: Sendable {
    private let service: DemoService
    private let crowd: Int
    /// Keeps the ids of two runs on one service apart.
    private let run = String(UInt32.random(in: .min ... .max), radix: 16)
    private let start = Date().addingTimeInterval(-600)

    static func play(on base: String, key: Secret? = nil, crowd: Int) async throws {
        try await DemoService.withService(at: base, key: key) { try await DemoLives(service: $0, crowd: crowd).play() }
    }

    private func play() async throws {
        try Output.results.line("The app com.example.food, in sandbox:")
        try expect(try await service.call("PUT", DemoService.app, [:]).status < 300, "the app exists")
        try await normalLife()
        try await rotationAndLateRetry()
        try await takeover()
        try await swipeWhileTheAppWasDead()
        try await manyUnderOneAlias()
        try await deadToken()
        try Output.results.line("\nAll responses are as expected.")
    }

    private func normalLife() async throws {
        try title("1. A normal life: register, find it by its alias, confirm, end.")
        let (id, token) = (id("order"), token())
        let alias = "aliases/liveactivityId/\(id)/activities"
        let body: JSONValue = ["token": token, "observedAt": time(0), "aliases": ["liveactivityId": .string(id)]]
        try expect(try await register(id, body).status == 201, "the first token is registered")
        try expect(try await resolve(alias) == [token], "a sender finds it")
        try expect(try await register(id, body).body["outcome"] == "refreshed", "a repetition only confirms it")
        try expect(try await end(id).status == 204, "it ends")
        try expect(try await resolve(alias) == [], "senders get no token any more")
    }

    private func rotationAndLateRetry() async throws {
        try title("2. A rotation, and late uploads.")
        let (id, old, new) = (id("ride"), token(), token())
        _ = try await register(id, ["token": old, "observedAt": time(0)])
        let rotated = try await register(id, ["token": new, "observedAt": time(1)])
        try expect(rotated.body["outcome"] == "rotated", "the new token replaces the old one")
        let late = try await register(id, ["token": old, "observedAt": time(0)])
        try expect(late.body["code"] == "superseded", "a late retry of the old token is refused")
        _ = try await end(id)
        let afterEnd = try await register(id, ["token": new, "observedAt": time(2)])
        try expect(afterEnd.body["code"] == "activity-ended", "an ended activity stays ended")
    }

    private func takeover() async throws {
        try title("3. A takeover: another activity registers the token.")
        let (first, second, token) = (id("first"), id("second"), token())
        _ = try await register(first, ["token": token, "observedAt": time(0)])
        _ = try await register(second, ["token": token, "observedAt": time(1)])
        let earlier = try await service.call("GET", "\(DemoService.scope)/activities/\(first)")
        try expect(earlier.body["reason"] == "taken-over", "the earlier activity loses the token")
        let later = try await service.call("GET", "\(DemoService.scope)/activities/\(second)")
        try expect(later.body["token"] == token, "the later activity has the token")
    }

    private func swipeWhileTheAppWasDead() async throws {
        try title("4. A dismissal while the app is closed: its next launch sends a full state.")
        let (gone, phone) = (id("gone"), id("phone"))
        let alias: JSONValue = ["orderId": .string(gone)]
        let body: JSONValue = [
            "token": token(), "observedAt": time(0), "installationId": .string(phone), "aliases": alias,
        ]
        _ = try await register(gone, body)
        let path = "\(DemoService.scope)/installations/\(phone)/activities"
        let state = try await service.call("PUT", path, ["observedAt": time(1), "activities": []])
        try expect(state.body["ended"] == [.string(gone)], "the full state ends the missing activity")
        try expect(try await resolve("aliases/orderId/\(gone)/activities") == [], "senders do not get it")
        let again = try await register(gone, ["token": body["token"] ?? .null, "observedAt": time(2)])
        try expect(again.body["outcome"] == "reactivated", "a later observation brings it back")
    }

    private func manyUnderOneAlias() async throws {
        try title("5. \(crowd) activities under one alias, streamed.")
        let match = id("match")
        let clock = ContinuousClock()
        let registering = try await clock.measure { try await registerCrowd(match) }
        try Output.results.line("  \(crowd) registrations in \(seconds(registering))")
        let start = clock.now
        let lines = try await service.stream("\(DemoService.scope)/aliases/matchId/\(match)/activities").lines
        let last = lines.last.map { String(decoding: $0, as: UTF8.self) } ?? ""
        try Output.results.line("  ← \(lines.count) lines in \(seconds(clock.now - start)), the last one \(last)")
        let isWhole = last == "{\"end\":true,\"count\":\(crowd)}" && lines.count == crowd + 2
        try expect(isWhole, "the stream has every activity and its end")
        let all = try await service.call("DELETE", "\(DemoService.scope)/aliases/matchId/\(match)/activities")
        try expect(all.body["ended"] == .integer(Int64(crowd)), "one call ends them all")
    }

    private func deadToken() async throws {
        try title("6. Feedback: APNs responds to a push with 410, and the sender reports it.")
        let (id, token) = (id("dead"), token())
        let alias = "aliases/liveactivityId/\(id)/activities"
        let body: JSONValue = ["token": token, "observedAt": time(0), "aliases": ["liveactivityId": .string(id)]]
        _ = try await register(id, body)
        let report: JSONValue = ["token": token, "status": 410, "reason": "Unregistered"]
        let answer = try await service.call("POST", "\(DemoService.scope)/feedback", ["reports": [report]])
        try expect(elements(answer.body["results"]).first?["action"] == "dropped", "the token is dead")
        try expect(try await resolve(alias) == [], "senders do not get it")
        try expect(try await register(id, body).body["code"] == "token-unregistered", "a late retry is refused")
    }

    private func registerCrowd(_ match: String) async throws {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<crowd {
                if number >= 64 { try check(await group.next()) }
                let path = "\(DemoService.scope)/activities/\(match)-\(number)"
                let body: JSONValue = ["token": token(), "aliases": ["matchId": .string(match)]]
                group.addTask { try await service.send("PUT", path, body).status }
            }
            for try await status in group { try check(status) }
        }
    }

    private func check(_ status: Int?) throws(CommandFailure) {
        guard status == 201 else {
            throw CommandFailure(.failed, "A registration for part 5 failed with status \(status ?? 0).")
        }
    }

    private func register(_ id: String, _ body: JSONValue) async throws -> DemoService.Reply {
        try await service.call("PUT", "\(DemoService.scope)/activities/\(id)", body)
    }

    private func end(_ id: String) async throws -> DemoService.Reply {
        try await service.call("DELETE", "\(DemoService.scope)/activities/\(id)")
    }

    private func resolve(_ path: String) async throws -> [JSONValue] {
        let reply = try await service.call("GET", "\(DemoService.scope)/\(path)")
        return elements(reply.body["activities"]).map { $0["token"] ?? .null }
    }

    /// `[null]` for other values, because no scene expects that.
    private func elements(_ value: JSONValue?) -> [JSONValue] {
        guard case .array(let elements)? = value else { return [.null] }
        return elements
    }

    private func seconds(_ duration: Duration) -> String { String(format: "%.2f s", duration / .seconds(1)) }

    private func title(_ text: String) throws(CommandFailure) { try Output.results.line("\n\(text)") }

    private func expect(_ isTrue: Bool, _ sentence: String) throws(CommandFailure) {
        guard isTrue else { throw CommandFailure(.failed, "Not as expected: \(sentence).") }
        try Output.results.line("    \(sentence).")
    }

    private func id(_ name: String) -> String { "\(name)-\(run)" }

    private func token() -> JSONValue {
        .string(Hexadecimal.encode((0..<80).map { _ in UInt8.random(in: .min ... .max) }))
    }

    private func time(_ minute: Double) -> JSONValue { .string(RFC3339.format(start.addingTimeInterval(minute * 60))) }
}
