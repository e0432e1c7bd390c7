import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct RightsMatrixTests {
    /// The roles of each call, as `openapi.json` lists them independently of the code. Empty for everyone.
    private static let roles: [String: [Role]] = {
        let operations = APIDocument.embedded.tags.flatMap { APIDocument.embedded.operations(of: $0.name) }
        return Dictionary(
            uniqueKeysWithValues: operations.map { operation in
                ("\(operation.method.uppercased()) \(operation.path)", operation.roles.compactMap(Role.init))
            }
        )
    }()

    private struct Caller {
        let name: String
        /// Nil for invalid credentials.
        let role: Role?
        /// Nil for all.
        var app: String?
        let fields: HTTPFields
        /// Whether it is a JWT, which is valid only for an app of its issuer.
        var isUser = false
    }

    private static func callers() async throws -> [Caller] {
        let stranger = HTTPFields.bearer(TestIssuer.stranger.token(at: Date()))
        let expired = try await server.key(.admin, expiresAt: Date(timeIntervalSinceNow: -1)).fields
        let user = HTTPFields.bearer(TestIssuer.honest.token(at: Date()))
        var callers = [
            Caller(name: "nobody", role: nil, fields: [:]), Caller(name: "a stranger", role: nil, fields: stranger),
            Caller(name: "an expired admin", role: nil, fields: expired),
            Caller(name: "a user", role: .client, fields: user, isUser: true),
            Caller(name: "root", role: .root, fields: try await server.key(.root).fields),
        ]
        for app in ["com.example.food", "com.example.taxi"] {
            try await server.acceptUsers(of: app)
            for role in Role.ofApps {
                let fields = try await server.key(role, of: app).fields
                callers.append(Caller(name: "\(role) of \(app)", role: role, app: app, fields: fields))
            }
        }
        return callers
    }

    private static func expectation(_ caller: Caller, _ app: String, _ exists: Bool, _ allowed: [Role], _ route: Route)
        -> String
    {
        guard let role = caller.role else { return "unauthenticated" }
        let namesApp = route.template.contains("{bundleId}")
        if caller.isUser, !namesApp || !exists { return "unauthenticated" }
        if namesApp, let own = caller.app, own != app { return "unknown-app" }
        guard allowed.contains(role) else { return "forbidden" }
        return exists || !namesApp ? "in" : "unknown-app"
    }

    @Test(.secureService) func `Every caller gets the listed response of every call`() async throws {
        _ = try await database.scope("com.example.taxi")
        let callers = try await Self.callers()
        for route in Route.all {
            let allowed = try #require(Self.roles["\(route.method.rawValue) \(route.template)"], "\(route.template)")
            guard !allowed.isEmpty else { continue }
            for app in ["com.example.food", "com.example.taxi", "com.example.none"] {
                // Root would delete and create apps; the store's tests cover that.
                for caller in callers where caller.role != .root || route.template != "/v1/apps/{bundleId}" {
                    let expected = Self.expectation(caller, app, app != "com.example.none", allowed, route)
                    let body: JSONValue? = route.body == .none ? nil : 7
                    let path = route.path(app)
                    let reply = try await server.call(route.method, path, body, caller.fields.on("x"))
                    let words = "\(caller.name): \(route.method) \(path): \(reply.problem)"
                    if expected == "in" {
                        let refusals = ["unauthenticated", "forbidden", "unknown-app", "too-many-requests"]
                        #expect(!refusals.contains(reply.problem) && reply.status < 500, "\(words)")
                    } else {
                        #expect(reply.problem == expected, "\(words)")
                    }
                }
            }
        }
    }

    @Test(.secureService) func `Another app gets the same response as a missing app`() async throws {
        _ = try await database.scope("com.example.taxi")
        for role in Role.ofApps {
            let fields = try await server.key(role).fields.with(RequestID.field, "same")
            for route in Route.all where route.template.contains("{bundleId}") {
                let other = try await server.call(route.method, route.path("com.example.taxi"), nil, fields)
                let none = try await server.call(route.method, route.path("com.example.nope"), nil, fields)
                #expect(other.problem == "unknown-app" && other.body == none.body)
                #expect(other.fields.filter { $0.name != .date } == none.fields.filter { $0.name != .date })
            }
        }
    }

    /// Each request also has the errors of all later requests, so the response shows the first error in the documented order.
    @Test(.timedService { $0.keyRate = RateLimit(rate: 1) })
    func `Refusals come in the documented order`() async throws {
        _ = try await database.scope("com.example.taxi")
        // A sender's key, because refused requests of one phone do not count for a publishable key.
        let (client, auditor) = (try await server.key(.client).fields, try await server.key(.auditor).fields)
        let sender = try await server.key(.sender).fields
        let (large, brace) = ([UInt8](repeating: UInt8(ascii: "x"), count: 64 * 1024 + 1), Array("{".utf8))
        let (here, there) = ("…/activities/a", "/v1/apps/com.example.taxi/sandbox/activities/a")
        let wrong = Array(#"{"aliases":{"userId":"u"}}"#.utf8)
        let sound = Array(#"{"token":"00","aliases":{"userId":"u"}}"#.utf8)
        let cases: [(HTTPRequest.Method, String, [UInt8], HTTPFields, String)] = [
            (.patch, "/v2/%", large, [:], "malformed-path"), (.patch, "/v2/apps", large, [:], "no-such-route"),
            (.patch, there, large, [:], "method-not-allowed"), (.put, there, large, [:], "unauthenticated"),
            (.put, there, large, auditor, "unknown-app"), (.put, here, large, auditor, "forbidden"),
            (.put, here, large, sender, "body-too-large"), (.put, here, large, sender, "body-too-large"),
            (.put, here, large, sender, "too-many-requests"), (.put, here, brace, client, "unsupported-media-type"),
            (.put, here, brace, client.with(.contentType, "application/json"), "malformed-json"),
            (.put, here, wrong, client.with(.contentType, "application/json"), "invalid-request /token"),
            (.put, here, sound, client.with(.contentType, "application/json"), "installation-required"),
            (.put, here, sound, client.with(.contentType, "application/json").on("x"), "alias-not-allowed"),
        ]
        for (method, path, body, fields, problem) in cases {
            var all = fields
            all[.contentType] = fields[.contentType] ?? "text/plain"
            #expect(try await server.send(method, path, body, all).problem == problem)
            if all[.authorization] == client[.authorization] { clock.advance(by: .seconds(9)) }
        }
    }
}
