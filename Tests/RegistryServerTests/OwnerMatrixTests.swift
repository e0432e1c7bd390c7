import Foundation
import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// Every caller at every call about a record, of every owner, in every app, against one table.
@Suite(.timeLimit(.minutes(5))) struct OwnerMatrixTests {
    /// Who may change whose record: `y`, or `n` for not-yours. The columns are ``owners``.
    ///
    /// u1 and u2 are users, x and y installations; a caller is who it is, at the installation that it names.
    private static let table = """
                    u1  u2  x   y   u1x u2x u2y none bare
        u1          y   n   n   n   y   n   n   n    y
        u1-x        y   n   y   n   y   n   n   n    y
        u1-y        y   n   n   y   y   n   n   n    y
        u2-x        n   y   y   n   n   y   y   n    y
        client-x    n   n   y   n   y   y   n   n    y
        client-y    n   n   n   y   n   n   y   n    y
        sender      y   y   y   y   y   y   y   y    y
        sender-x    y   y   y   y   y   y   y   y    y
        admin       y   y   y   y   y   y   y   y    y
        root        y   y   y   y   y   y   y   y    y
        """

    private static let cells: [String: [String: Bool]] = {
        let lines = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        return Dictionary(
            uniqueKeysWithValues: lines.dropFirst().map { line in
                (line[0], Dictionary(uniqueKeysWithValues: zip(lines[0], line.dropFirst().map { $0 == "y" })))
            }
        )
    }()

    /// Those who made a record; `bare` is a tombstone that a backend left, `none` a backend's activity.
    private static let owners: [String: Claimant] = {
        let (x, y) = (installation("x"), installation("y"))
        return [
            "u1": .subject("u1", nil), "u2": .subject("u2", nil), "x": .installation(x), "y": .installation(y),
            "u1x": .subject("u1", x), "u2x": .subject("u2", x), "u2y": .subject("u2", y), "none": .any, "bare": .any,
        ]
    }()

    private static func installation(_ name: String) -> InstallationHash {
        InstallationHash(of: try! InstallationID(name), in: try! BundleID("com.example.food"))
    }

    private enum Change: String, CaseIterable {
        case newToken = "a new token"
        case sameToken = "the same token"
        case oldToken = "an older token"
        case end
        case fullState = "a full state"
        case read
        case release

        var roles: Set<Role> {
            switch self {
            case .read: [.sender, .admin, .root]
            case .release: [.admin, .root]
            default: [.client, .sender, .admin, .root]
            }
        }
    }

    private struct Caller {
        /// As in the table's first column.
        let name: String
        let role: Role?
        let fields: HTTPFields

        /// The installation that it names.
        var installation: String? { fields[.installationID] }
        var isUser: Bool { name.hasPrefix("u") }
    }

    private static func callers(_ server: LiveServer) async throws -> [Caller] {
        let admin = try await server.key(.admin)
        let settings: JSONValue = ["jwt": .object(TestIssuer.honest.settings)]
        #expect(try await server.call(.put, "/v1/apps/com.example.food", settings, admin.fields).status == 200)
        func caller(_ name: String, _ role: Role?, _ fields: HTTPFields) -> Caller {
            var fields = fields
            fields[.installationID] = name.contains("-") ? String(name.suffix(1)) : nil
            return Caller(name: name, role: role, fields: fields)
        }
        func user(_ name: String) -> HTTPFields {
            [.authorization: "Bearer \(TestIssuer.honest.token(claims: ["sub": .string(name)], at: Date()))"]
        }
        let (client, sender) = (try await server.key(.client).fields, try await server.key(.sender).fields)
        return [
            caller("nobody", nil, [:]), caller("u1", .client, user("u1")), caller("u1-x", .client, user("u1")),
            caller("u1-y", .client, user("u1")), caller("u2-x", .client, user("u2")),
            caller("client", .client, client), caller("client-x", .client, client),
            caller("client-y", .client, client), caller("sender", .sender, sender),
            caller("sender-x", .sender, sender), caller("auditor", .auditor, try await server.key(.auditor).fields),
            caller("admin", .admin, admin.fields), caller("root", .root, try await server.key(.root).fields),
        ]
    }

    private static func expectation(_ caller: Caller, _ change: Change, of owner: String, in app: String) -> String {
        guard let role = caller.role else { return "unauthenticated" }
        if app != "food" {
            if caller.isUser { return "unauthenticated" }
            if role != .root || app == "none" { return "unknown-app" }
        }
        guard change.roles.contains(role) else { return "forbidden" }
        guard role == .client else { return "in" }
        // A full state names its installation in the path.
        if caller.name == "client" {
            return change != .fullState ? "installation-required" : owner == "bare" ? "in" : "not-yours"
        }
        return cells[caller.name]?[owner] == true ? "in" : "not-yours"
    }

    private static func make(_ id: String, of owner: String, token: Int, _ server: LiveServer, _ scope: Scope)
        async throws
    {
        let id = ActivityID.sample(id)
        guard owner != "bare" else {
            return try await server.registry.end(id, reason: .ended, observedAt: nil, in: scope, by: "test")
        }
        let registration = ActivityRegistration.sample(token: .sample(token), observedAt: .minutesAgo(30))
        let claimant = try #require(owners[owner])
        _ = try await server.registry.register(registration, as: id, in: scope, by: "test", claimant: claimant)
    }

    private static func call(
        _ change: Change,
        _ id: String,
        token: Int,
        by caller: Caller,
        in app: String,
        _ server: LiveServer
    ) async throws -> Reply {
        let place = "/v1/apps/com.example.\(app)/sandbox"
        let path = "\(place)/activities/\(id)"
        func put(_ token: Int, _ minutes: Double?) async throws -> Reply {
            var body: JSONObject = ["token": .token(token)]
            body["observedAt"] = minutes.map { .minutesAgo($0) }
            return try await server.call(.put, path, .object(body), caller.fields)
        }
        switch change {
        case .newToken: return try await put(token + 1, 10)
        case .sameToken: return try await put(token, nil)
        case .oldToken: return try await put(token + 2, 40)
        case .end: return try await server.call(.delete, path, nil, caller.fields)
        case .fullState:
            let item: JSONValue = ["activityId": .string(id), "token": .token(token)]
            let body: JSONValue = ["observedAt": .minutesAgo(5), "activities": [item]]
            let installation = caller.installation ?? "z"
            return try await server.call(.put, "\(place)/installations/\(installation)/activities", body, caller.fields)
        case .read: return try await server.call(.get, path, nil, caller.fields)
        case .release: return try await server.call(.post, "\(path)/release", nil, caller.fields)
        }
    }

    /// What the caller was told: a refusal, or `in`; whether what he may do succeeds is for other tests.
    private static func outcome(_ reply: Reply) -> String {
        if case .string(let code)? = reply["results"][0]["problem"]?["code"], code == "not-yours" { return code }
        let refusals = ["unauthenticated", "forbidden", "unknown-app", "not-yours", "installation-required"]
        guard reply.status < 500, reply.status != 422, reply.status != 429 else { return "\(reply.status)" }
        return refusals.contains(reply.problem) ? reply.problem : "in"
    }

    @Test func everyCell() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        _ = try await database.scope("com.example.taxi")
        try await LiveServer.run(on: database.registry, insecureNoAuth: false) { server in
            var (cells, refused) = (0, 0)
            for caller in try await Self.callers(server) {
                for owner in Self.owners.keys.sorted() {
                    for change in Change.allCases {
                        for app in ["food", "taxi", "none"] {
                            let (id, token) = ("cell-\(cells)", cells * 4)
                            if app == "food" { try await Self.make(id, of: owner, token: token, server, scope) }
                            let reply = try await Self.call(change, id, token: token, by: caller, in: app, server)
                            let expected = Self.expectation(caller, change, of: owner, in: app)
                            let words = "\(caller.name): \(change.rawValue) of \(owner) in \(app)"
                            #expect(Self.outcome(reply) == expected, "\(words): \(reply.status) \(reply.problem)")
                            cells += 1
                            if expected == "not-yours" { refused += 1 }
                        }
                    }
                }
            }
            #expect(cells == 2457 && refused > 100, "\(cells) \(refused)")
        }
    }

    /// The refusal says nothing of the record, not even whether it runs.
    @Test func refusalTellsNothing() async throws {
        let database = try await TestDatabase.make()
        let scope = try await database.scope()
        try await LiveServer.run(on: database.registry, insecureNoAuth: false) { server in
            var fields = try await server.key(.client).fields
            fields[.installationID] = "x"
            fields[RequestID.field] = "same"
            var answers: Set<[UInt8]> = []
            for owner in ["u1", "none"] {
                for isEnded in [false, true] {
                    let id = "\(owner)-\(isEnded)"
                    try await Self.make(id, of: owner, token: answers.count, server, scope)
                    if isEnded {
                        try await server.registry.end(.sample(id), reason: .ended, observedAt: nil, in: scope, by: "x")
                    }
                    let reply = try await server.call(.put, "…/activities/\(id)", ["token": .token(900)], fields)
                    #expect(reply.problem == "not-yours")
                    answers.insert(reply.bytes)
                }
            }
            #expect(answers.count == 1)
        }
    }
}
