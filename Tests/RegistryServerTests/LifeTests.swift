import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// Cases from real backends, with their real times. Minutes are minutes ago.
@Suite(.service, .timeLimit(.minutes(15))) struct LifeTests {
    private let life = Life()

    @Test func `A token rotates without the app, which learns it at its next launch`() async throws {
        try await life.register(1, observed: 60)
        #expect(try await life.unregistered(1, since: 30) == "dropped")
        #expect(try await life.tokens() == [])
        #expect(try await life.state() == "active")
        let launch = try await life.relaunch(at: 10, running: ["a-1": 2])
        #expect(launch["results"][0]["outcome"] == "rotated")
        #expect(launch["ended"] == [])
        #expect(try await life.tokens() == [.token(2)])
        #expect(try await life.register(1, observed: 60).problem == "superseded")
        #expect(try await life.unregistered(1, since: 30) == "retired")
        #expect(try await life.tokens() == [.token(2)])
    }

    @Test func `The user swipes an activity away without the app, and the next full state reports it`() async throws {
        try await life.register(1, of: "a-1", observed: 60)
        try await life.register(2, of: "a-2", observed: 60)
        #expect(try await life.relaunch(at: 20, running: ["a-2": 2])["ended"] == ["a-1"])
        #expect(try await life.tokens() == [.token(2)])
        #expect(try await life.state(of: "a-1") == "dismissed")
        // An upload from before the swipe arrives late.
        try await life.register(1, of: "a-1", observed: 30)
        #expect(try await life.tokens() == [.token(2)])
        // It still runs: iOS had not listed it yet.
        try await life.register(1, of: "a-1", observed: 10)
        #expect(try await Set(life.tokens()) == [.token(1), .token(2)])
    }

    @Test func `The app is deleted and installed again, and follows the same order`() async throws {
        try await life.register(1, of: "a-1", on: "phone-1", observed: 60)
        // The new installation does not know the old id, and the old activities have not ended.
        try await life.register(2, of: "a-2", on: "phone-1-again", observed: 20)
        #expect(try await Set(life.tokens()) == [.token(1), .token(2)])
        #expect(try await life.unregistered(1, since: 30) == "dropped")
        #expect(try await life.tokens() == [.token(2)])
        // Its full state covers only its own activities.
        #expect(try await life.relaunch("phone-1-again", at: 10, running: ["a-2": 2])["ended"] == [])
        #expect(try await life.tokens() == [.token(2)])
    }

    @Test func `A backup restored to a second phone gives it the first one's installation id`() async throws {
        try await life.relaunch("phone-1", at: 50, running: ["a-1": 1])
        // Each phone's full state ends the other's activities, and their next registration restores them.
        #expect(try await life.relaunch("phone-1", at: 40, running: ["b-1": 2])["ended"] == ["a-1"])
        #expect(try await life.relaunch("phone-1", at: 30, running: ["a-1": 1])["ended"] == ["b-1"])
        try await life.register(3, of: "b-1", observed: 20)
        #expect(try await Set(life.tokens()) == [.token(1), .token(3)])
    }

    @Test func `iOS retries the old token's upload for hours: after the rotation, and after the end`() async throws {
        try await life.register(1, observed: 150)
        try await life.register(2, observed: 120)
        #expect(try await life.register(1, observed: 150).problem == "superseded")
        #expect(try await life.register(1, observed: nil).problem == "superseded")
        #expect(try await life.tokens() == [.token(2)])
        try await life.end(observed: 60)
        #expect(try await life.tokens() == [])
        for (token, minutes) in [(1, 150.0), (2, 120.0), (2, 1.0)] {
            #expect(try await life.register(token, observed: minutes).problem == "activity-ended")
        }
        #expect(try await life.register(3, observed: nil).problem == "activity-ended")
        #expect(try await life.tokens() == [])
    }

    @Test func `The end overtakes the registration, which a background upload brings two hours later`() async throws {
        try await life.end(observed: 10)
        #expect(try await life.register(1, observed: 120).problem == "activity-ended")
        #expect(try await life.tokens() == [])
    }

    @Test func `A 410 overtakes the registration of its token`() async throws {
        #expect(try await life.unregistered(1, since: 15) == "unknown")
        // Uploaded two hours late. The token died before the service received it.
        #expect(try await life.register(1, observed: 120).problem == "token-unregistered")
        #expect(try await life.tokens() == [])
        try await life.register(2, observed: 5)
        #expect(try await life.tokens() == [.token(2)])
    }

    @Test func `A sender takes a development build's token to production's APNs`() async throws {
        try await life.register(1, observed: 10, in: .sandbox)
        let report: JSONValue = ["token": .token(1), "status": 400, "reason": "BadDeviceToken"]
        let stray = try await life.report(report, in: .production)
        #expect(stray["action"] == "unknown")
        #expect(stray["detail"]?.string?.contains("sandbox") == true)
        #expect(try await life.tokens(in: .sandbox) == [.token(1)])
        // The app sends the wrong environment. The quarantine reports where the token is known.
        try await life.register(1, observed: 5, in: .production)
        let wrong = try await life.report(report, in: .production)
        #expect(wrong["action"] == "quarantined")
        #expect(wrong["detail"]?.string?.contains("sandbox") == true)
        #expect(try await life.tokens(in: .production) == [])
        #expect(try await life.tokens(in: .sandbox) == [.token(1)])
    }

    /// Zero dates of other calendars and languages, and a phone that was a day behind.
    @Test func `A wrong clock ends no activity`() async throws {
        func put(_ id: String, _ times: JSONObject) async throws -> Reply {
            let body: JSONObject = ["token": .token(1)]
            return try await server.call(.put, "…/activities/\(id)", .object(body.overlaid(by: times)))
        }
        #expect(try await put("x", [:]).status == 201)
        for (field, time) in [("observedAt", "1970-01-01T00:00:00Z"), ("startedAt", "0001-01-01T00:00:00Z")] {
            #expect(try await put("x", JSONObject([(field, .string(time))])).problem == "clock-skew /\(field)")
        }
        #expect(try await server.call(.get, "…/activities/x")["state"] == "active")
        #expect(try await put("y", ["observedAt": .minutesAgo(24 * 60)]).problem == "activity-expired")
        #expect(try await put("y", ["observedAt": .minutesAgo(0)]).status == 201)
    }
}

/// A story of a phone with the app, and a sender that resolves tokens and reports APNs's responses.
///
/// Times are minutes ago. The defaults are activity `a-1` of `phone-1`, with the alias `order-42`.
struct Life {
    static let alias = "order-42"

    /// The hash of `phone-1`.
    static func installation() throws -> String {
        InstallationHash(of: try InstallationID("phone-1"), in: try BundleID("com.example.food")).description
    }

    private func path(_ rest: String, _ environment: APNSEnvironment) -> String {
        "/v1/apps/com.example.food/\(environment.rawValue)/\(rest)"
    }

    /// `pushTokenUpdates` delivered a token. Its upload arrives now.
    @discardableResult
    func register(
        _ token: Int,
        of id: String = "a-1",
        on phone: String = "phone-1",
        observed minutes: Double?,
        started: Double? = nil,
        in environment: APNSEnvironment = .sandbox
    ) async throws -> Reply {
        var body: JSONObject = [
            "token": .token(token), "installationId": .string(phone),
            "aliases": ["liveactivityId": .string(Self.alias)],
        ]
        body["observedAt"] = minutes.map { .minutesAgo($0) }
        body["startedAt"] = started.map { .minutesAgo($0) }
        return try await server.call(.put, path("activities/\(id)", environment), .object(body))
    }

    /// The app starts and sends a full state with all running activities.
    @discardableResult
    func relaunch(_ phone: String = "phone-1", at minutes: Double, running: [String: Int]) async throws -> Reply {
        let activities = running.sorted { $0.key < $1.key }.map { id, token -> JSONValue in
            ["activityId": .string(id), "token": .token(token), "aliases": ["liveactivityId": .string(Self.alias)]]
        }
        let body: JSONValue = ["observedAt": .minutesAgo(minutes), "activities": .array(activities)]
        return try await server.call(.put, "…/installations/\(phone)/activities", body)
    }

    /// `activityStateUpdates` reported its end.
    func end(_ id: String = "a-1", observed minutes: Double) async throws {
        let time = RFC3339.format(.minutesAgo(minutes))
        _ = try await server.call(.delete, "…/activities/\(id)?observedAt=\(time)")
    }

    func tokens(in environment: APNSEnvironment = .sandbox) async throws -> [JSONValue] {
        let list = path("aliases/liveactivityId/\(Self.alias)/activities", environment)
        return try await server.call(.get, list)["activities"].all("token")
    }

    func state(of id: String = "a-1") async throws -> JSONValue {
        try await server.call(.get, "…/activities/\(id)")["state"]
    }

    /// Reports that APNs answered a push with 410 and this time of death.
    func unregistered(_ token: Int, since minutes: Double) async throws -> JSONValue {
        let milliseconds = Int64((Date.minutesAgo(minutes).timeIntervalSince1970 * 1000).rounded())
        return try await report(
            ["token": .token(token), "status": 410, "reason": "Unregistered", "timestamp": .integer(milliseconds)]
        )["action"] ?? .null
    }

    /// Reports APNs's response, and returns the result.
    func report(_ report: JSONValue, in environment: APNSEnvironment = .sandbox) async throws -> JSONValue {
        try await server.call(.post, path("feedback", environment), ["reports": [report]])["results"][0]
    }
}
