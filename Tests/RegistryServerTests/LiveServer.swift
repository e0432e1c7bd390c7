import Foundation
import HTTPTypes
import Logging
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

struct LiveServer {
    let port: Int
    let registry: Registry

    static func run<Value>(
        _ responder: RegistryResponder,
        _ configuration: ServerConfiguration,
        _ test: (LiveServer) async throws -> Value
    ) async throws -> Value {
        try await Listener.run(configuration, responder.respond) { port in
            try await test(LiveServer(port: port, registry: responder.registry))
        }
    }

    func key(_ role: Role, of app: String = "com.example.food", expiresAt: Date? = nil) async throws -> TestKey {
        let owner = role == .root ? nil : try await registry.app(BundleID(app))
        return TestKey(key: try await registry.makeKey(role, of: owner, expiresAt: expiresAt))
    }

    /// Lets the users of ``TestIssuer/honest`` sign in to an app.
    func acceptUsers(of app: String = "com.example.food") async throws {
        let settings: JSONValue = ["jwt": .object(TestIssuer.honest.settings)]
        #expect(try await call(.put, "/v1/apps/\(app)", settings, key(.root).fields).status == 200)
    }

    /// Makes a call; `…` is replaced by the test's app and environment.
    func call(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: JSONValue? = nil,
        _ fields: HTTPFields = [:]
    ) async throws -> Reply {
        try await send(method, path, body.map { Array($0.description.utf8) }, fields)
    }

    /// Makes a call with any body on a new connection, because some refusals close it.
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: [UInt8]?,
        _ fields: HTTPFields = [:]
    ) async throws -> Reply {
        var fields = fields
        if body != nil, fields[.contentType] == nil { fields[.contentType] = "application/json" }
        let path = path.replacingOccurrences(of: "…", with: "/v1/apps/com.example.food/sandbox")
        return try await Reply.to(method, path, fields, body, port: port)
    }

    /// Sends a text on a new connection, and reads until its end.
    ///
    /// - Parameter isAll: whether the caller closes its side.
    func answer(to text: String, isAll: Bool = false) async throws -> String {
        let connection = try RawConnection(port: port)
        connection.send(text)
        if isAll { connection.finishSending() }
        return await connection.read()
    }

    @discardableResult
    func register(_ id: String, token: Int, alias: String = "order-42") async throws -> Reply {
        let body: JSONValue = ["token": .token(token), "aliases": ["liveactivityId": .string(alias)]]
        return try await call(.put, "…/activities/\(id)", body)
    }
}

struct TestKey: Sendable {
    let key: APIKey
    var fields: HTTPFields { .bearer(key.text.revealed) }
}

extension Listener {
    static func run<Value>(
        _ configuration: ServerConfiguration,
        local: [AddressRange] = IPAddress.loopback,
        logger: Logger = .silent,
        _ respond: @escaping RequestHandler.Respond,
        _ body: (_ port: Int) async throws -> Value
    ) async throws -> Value {
        try await serve(
            { try Listener(configuration, local: local, logger: logger, onServing: $0, respond: respond) },
            body
        )
    }
}

extension Reply {
    /// `null` if it is not JSON.
    var json: JSONValue { (try? JSONParser.parse(body)) ?? .null }

    subscript(_ key: String) -> JSONValue { json[key] ?? .null }

    var lines: [JSONValue] {
        body.split(separator: 0x0A).map { (try? JSONParser.parse($0)) ?? .null }
    }

    /// The code of a problem and the pointers of its errors, such as `invalid-request /token`.
    var problem: String {
        guard let code = self["code"].string, fields[.contentType] == "application/problem+json" else { return "" }
        return ([code] + self["errors"].all("pointer").compactMap(\.string)).joined(separator: " ")
    }
}

extension JSONValue {
    static func token(_ number: Int) -> JSONValue { .string(Hexadecimal.encode(PushToken.sample(number).bytes)) }
    static func minutesAgo(_ minutes: Double) -> JSONValue { .string(RFC3339.format(.minutesAgo(minutes))) }
}

extension TestDatabase {
    func execute(_ statement: SQL) async throws {
        _ = try await pool.withSession { try $0.execute(statement).count }
    }
}

extension Logger {
    static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

extension App {
    static func sample(
        _ bundleID: String = "com.example.food",
        jwt: JSONObject? = nil,
        aliasRules: [UTF8Text: AliasRule] = [:],
        updatedAt: Date = .distantPast
    ) -> App {
        var settings = AppSettings()
        (settings.aliasRules, settings.jwt) = (aliasRules, jwt)
        return App(
            id: 1,
            scopeIDs: ScopeIDs(sandbox: 1, production: 2),
            bundleID: try! BundleID(bundleID),
            settings: settings,
            createdAt: .distantPast,
            updatedAt: updatedAt
        )
    }
}

extension Registry {
    /// A registry with an unreachable Postgres, unless the address has one.
    static func away(_ address: String = "host=/nonexistent dbname=none", within timeout: Duration) -> Registry {
        let pool = TestDatabase.pool(address, connections: 2, timeout: timeout)
        return Registry(pool: pool, logger: .silent)
    }
}
