import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport

@testable import RegistryServer

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
