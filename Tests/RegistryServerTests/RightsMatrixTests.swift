import Foundation
import HTTPTypes
import RegistryCore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct RightsMatrixTests {
    /// The roles of each call, written independently of the code. A route that is missing here fails the test.
    private static let table: [(roles: [Role], routes: [String])] = [
        (
            [.client, .sender, .admin, .root],
            [
                "PUT …/activities/{activityId}", "DELETE …/activities/{activityId}", "POST …/activities",
                "DELETE …/activities", "PUT …/installations/{installationId}/activities",
                "PUT …/installations/{installationId}", "DELETE …/installations/{installationId}",
                "PUT …/installations/{installationId}/start-tokens/{attributesType}",
                "DELETE …/installations/{installationId}/start-tokens/{attributesType}",
                "PUT …/installations/{installationId}/tokens/{tokenKind}",
                "DELETE …/installations/{installationId}/tokens/{tokenKind}",
                "PUT …/installations/{installationId}/device-token",
                "DELETE …/installations/{installationId}/device-token",
            ]
        ),
        (
            [.sender, .admin, .root],
            [
                "GET …/activities/{activityId}", "GET …/aliases/{kind}/{value}/activities",
                "DELETE …/aliases/{kind}/{value}/activities", "POST …/resolve", "POST …/feedback", "POST …/plan",
                "DELETE …/plan/leases/{leaseId}", "GET …/aliases/{kind}/{value}/tokens/{tokenKind}",
                "GET …/aliases/{kind}/{value}/start-tokens", "GET …/aliases/{kind}/{value}/device-tokens",
                "PUT …/aliases/{kind}/{value}/channel", "GET …/aliases/{kind}/{value}/channel",
                "DELETE …/aliases/{kind}/{value}/channel", "POST …/feedback/gorush",
            ]
        ),
        (
            [.admin, .root],
            [
                "POST …/activities/{activityId}/release", "POST …/release", "POST …/erasures",
                "POST …/installations/{installationId}/start-tokens/{attributesType}/release",
                "POST …/installations/{installationId}/tokens/{tokenKind}/release",
                "POST …/installations/{installationId}/device-token/release", "POST …/audit/stale/purge",
                "PUT /v1/apps/{bundleId}", "POST /v1/apps/{bundleId}/keys", "GET /v1/apps/{bundleId}/keys",
                "DELETE /v1/apps/{bundleId}/keys/{keyId}",
            ]
        ),
        (
            [.sender, .auditor, .admin, .root],
            [
                "GET …/installations/{installationId}", "GET …/changes",
            ]
        ),
        (
            [.auditor, .admin, .root],
            [
                "GET …/stats", "GET …/audit/stale", "GET …/audit/events", "GET …/audit/explain", "GET /metrics",
                "GET /v1/apps", "GET /v1/apps/{bundleId}",
            ]
        ),
        (
            [.root],
            [
                "DELETE /v1/apps/{bundleId}"
            ]
        ),
    ]

    private static func roles(_ route: Route) -> [Role]? {
        let name = "\(route.method.rawValue) \(route.template)"
            .replacingOccurrences(of: "/v1/apps/{bundleId}/{environment}", with: "…")
        return table.first { $0.routes.contains(name) }?.roles
    }

    private static func path(_ route: Route, _ app: String) -> String {
        var path = route.template.replacingOccurrences(of: "{bundleId}", with: app)
            .replacingOccurrences(of: "{environment}", with: "sandbox")
        for name in ["activityId", "installationId", "attributesType", "kind", "value", "leaseId"] {
            path = path.replacingOccurrences(of: "{\(name)}", with: "x")
        }
        return path.replacingOccurrences(of: "{tokenKind}", with: "widget")
            .replacingOccurrences(of: "{keyId}", with: "prs_000000000000")
    }

    private struct Caller {
        let name: String
        /// Nil for invalid credentials.
        let role: Role?
        /// Nil for all.
        let app: String?
        let fields: HTTPFields
        /// Whether it is a JWT, which is valid only for an app of its issuer.
        var isUser = false
    }

    private static func callers(_ server: LiveServer) async throws -> [Caller] {
        var callers = [Caller(name: "nobody", role: nil, app: nil, fields: [:])]
        for app in ["com.example.food", "com.example.taxi"] {
            for role in Role.ofApps {
                let fields = try await server.key(role, of: app).fields
                callers.append(Caller(name: "\(role) of \(app)", role: role, app: app, fields: fields))
            }
            let settings: JSONValue = ["jwt": .object(TestIssuer.honest.settings)]
            let admin = try await server.key(.admin, of: app)
            #expect(try await server.call(.put, "/v1/apps/\(app)", settings, admin.fields).status == 200)
        }
        let root = try await server.key(.root)
        callers.append(Caller(name: "root", role: .root, app: nil, fields: root.fields))
        let expired = try await server.key(.admin, expiresAt: Date(timeIntervalSinceNow: -1))
        callers.append(Caller(name: "an expired admin", role: nil, app: nil, fields: expired.fields))
        let token = TestIssuer.honest.token(at: Date())
        let user: HTTPFields = [.authorization: "Bearer \(token)"]
        callers.append(Caller(name: "a user", role: .client, app: nil, fields: user, isUser: true))
        let stranger: HTTPFields = [.authorization: "Bearer \(TestIssuer.stranger.token(at: Date()))"]
        callers.append(Caller(name: "a stranger", role: nil, app: nil, fields: stranger))
        return callers
    }

    private static func expectation(_ caller: Caller, _ app: String, _ exists: Bool, _ allowed: [Role], _ route: Route)
        -> String
    {
        guard let role = caller.role else { return "unauthenticated" }
        let namesApp = route.template.contains("{bundleId}")
        if caller.isUser, !namesApp || !exists { return "unauthenticated" }
        if namesApp, let own = caller.app, own != app { return "unknown-app" }
        return allowed.contains(role)
            ? (exists || !namesApp ? "in" : "in-nowhere") : "forbidden"
    }

    @Test(.secureService) func `Every caller gets the listed response of every call`() async throws {
        _ = try await database.scope("com.example.taxi")
        var cells = 0
        let callers = try await Self.callers(server)
        for route in Route.all where route.access != .everyone {
            let allowed = try #require(Self.roles(route), "\(route.method) \(route.template) is not in the table")
            for app in ["com.example.food", "com.example.taxi", "com.example.none"] {
                for caller in callers {
                    // Root would delete and create apps; the store's tests cover that.
                    let isRootsOwn = caller.role == .root && route.template == "/v1/apps/{bundleId}"
                    guard !isRootsOwn else { continue }
                    let expected = Self.expectation(caller, app, app != "com.example.none", allowed, route)
                    var fields = caller.fields
                    fields[.installationID] = "x"
                    let body: JSONValue? = route.body == .none ? nil : 7
                    let reply = try await server.call(route.method, Self.path(route, app), body, fields)
                    let words = "\(caller.name): \(route.method) \(Self.path(route, app)): \(reply.problem)"
                    switch expected {
                    case "in":
                        let refusals = ["unauthenticated", "forbidden", "unknown-app", "too-many-requests"]
                        #expect(!refusals.contains(reply.problem) && reply.status < 500, "\(words)")
                    case "in-nowhere": #expect(reply.problem == "unknown-app", "\(words)")
                    default: #expect(reply.problem == expected, "\(words)")
                    }
                    cells += 1
                }
            }
        }
        #expect(cells > 600)
    }

    @Test(.secureService) func `Another app gets the same response as a missing app`() async throws {
        _ = try await database.scope("com.example.taxi")
        let requestID: HTTPFields = [RequestID.field: "same"]
        for role in Role.ofApps {
            let fields = try await server.key(role).fields
            for route in Route.all where route.template.contains("{bundleId}") {
                var replies: [Reply] = []
                for app in ["com.example.taxi", "com.example.nope"] {
                    var all = fields
                    all[RequestID.field] = requestID[RequestID.field]
                    replies.append(try await server.call(route.method, Self.path(route, app), nil, all))
                }
                #expect(replies[0].problem == "unknown-app" && replies[0].bytes == replies[1].bytes)
                #expect(
                    replies[0].fields.filter { $0.name != .date } == replies[1].fields.filter { $0.name != .date }
                )
            }
        }
    }

    /// A request with every error, fixed one by one, with an allowed and a forbidden key.
    @Test(.timedService { $0.keyRate = RateLimit(rate: 1) })
    func `Refusals come in the documented order`() async throws {
        _ = try await database.scope("com.example.taxi")
        let (client, auditor) = (try await server.key(.client).fields, try await server.key(.auditor).fields)
        let large = [UInt8](repeating: UInt8(ascii: "x"), count: 64 * 1024 + 1)
        let (here, there) = ("…/activities/a", "/v1/apps/com.example.taxi/sandbox/activities/a")
        func problem(_ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields) async throws -> String {
            var fields = fields
            fields[.contentType] = "text/plain"
            return try await server.send(method, path, large, fields).problem
        }
        #expect(try await problem(.patch, there, [:]) == "method-not-allowed")
        #expect(try await problem(.put, there, [:]) == "unauthenticated")
        #expect(try await problem(.put, there, auditor) == "unknown-app")
        #expect(try await problem(.put, here, auditor) == "forbidden")
        // A sender's key, because refused requests of one phone do not count for a publishable key.
        let sender = try await server.key(.sender).fields
        #expect(try await problem(.put, here, sender) == "body-too-large")
        #expect(try await problem(.put, here, sender) == "body-too-large")
        #expect(try await problem(.put, here, sender) == "too-many-requests")
        clock.advance(by: .seconds(9))
        let wrong: JSONValue = ["aliases": ["userId": "u"]]
        #expect(try await server.call(.put, here, wrong, client).problem == "invalid-request /token")
        let sound: JSONValue = ["token": "00", "aliases": ["userId": "u"]]
        #expect(try await server.call(.put, here, sound, client).problem == "installation-required")
        clock.advance(by: .seconds(9))
        var phone = client
        phone[.installationID] = "x"
        #expect(try await server.call(.put, here, sound, phone).problem == "alias-not-allowed")
    }
}
