import Foundation
import HTTPTypes
import Logging
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

struct LiveServer {
    let port: Int
    let registry: Registry

    func key(_ role: Role, of app: String = "com.example.food", expiresAt: Date? = nil) async throws -> APIKey {
        let owner = role == .root ? nil : try await registry.app(BundleID(app))
        return try await registry.makeKey(role, of: owner, expiresAt: expiresAt)
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
    ) async throws -> Reply { try await send(method, path, body.map { Array($0.description.utf8) }, fields) }

    /// Makes a call with any body on a new connection, because some refusals close it.
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: [UInt8]?,
        _ fields: HTTPFields = [:]
    ) async throws -> Reply {
        var fields = fields
        if body != nil, fields[.contentType] == nil { fields[.contentType] = "application/json" }
        let path = path.replacing("…", with: "/v1/apps/com.example.food/sandbox")
        return try await Reply.to(method, path, fields, body, port: port)
    }

    /// Sends a text on a new connection, and reads until its end.
    ///
    /// - Parameter isAll: whether the caller closes its side.
    func answer(to text: String, isAll: Bool = false) async throws -> String {
        let connection = try RawConnection(port: port, sending: text)
        if isAll { connection.finishSending() }
        return await connection.read()
    }

    func measurements(_ fields: HTTPFields = [:]) async throws -> Measurements {
        Measurements(try await call(.get, "/metrics", nil, fields))
    }

    @discardableResult
    func register(_ id: String, token: Int, alias: String = "order-42") async throws -> Reply {
        let body: JSONValue = ["token": .token(token), "aliases": ["liveactivityId": .string(alias)]]
        return try await call(.put, "…/activities/\(id)", body)
    }
}

extension Route {
    /// The path of a call about an app, with a value for each parameter.
    func path(_ app: String) -> String {
        template.replacing("{bundleId}", with: app).replacing("{environment}", with: "sandbox")
            .replacing("{tokenKind}", with: "widget").replacing("{keyId}", with: "prs_000000000000")
            .replacing(/\{\w+\}/, with: "x")
    }
}

extension APIKey { var fields: HTTPFields { .bearer(text.revealed) } }

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

    var lines: [JSONValue] { body.split(separator: 0x0A).map { (try? JSONParser.parse($0)) ?? .null } }

    /// The code of a problem and the pointers of its errors, such as `invalid-request /token`.
    var problem: String {
        guard let code = self["code"].string, fields[.contentType] == "application/problem+json" else { return "" }
        return ([code] + self["errors"].all("pointer").compactMap(\.string)).joined(separator: " ")
    }
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
        Registry(pool: TestDatabase.pool(address, connections: 2, timeout: timeout), logger: .silent)
    }
}

/// The values of `/metrics` at one time, by series, such as `pushreg_sweep_rows_total{task="expiry"}`.
struct Measurements {
    let text: String
    private let values: [String: Double]

    init(_ reply: Reply) {
        text = reply.text
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        values = Dictionary(
            uniqueKeysWithValues: lines.compactMap { line in
                line.lastIndex(of: " ").map { (String(line[..<$0]), Double(line[$0...].dropFirst()) ?? .nan) }
            }
        )
    }

    /// The value of a series; zero if it is missing.
    subscript(_ series: String) -> Double { values[series] ?? 0 }
}

/// Runs the service during a test, on an empty schema with the app `com.example.food`.
struct ServiceTrait: TestTrait, SuiteTrait, TestScoping {
    struct Running {
        let server: LiveServer
        let responder: RegistryResponder
        let database: TestDatabase?
        let clock: ManualClock
    }

    @TaskLocal static var running: Running?
    /// Whether all tests of a suite, or all cases of a test, use one service.
    var isShared = false
    var hasManualClock = false
    let configure: @Sendable (inout ServerConfiguration) -> Void
    var isRecursive: Bool { !isShared }
    func scopeProvider(for _: Test, testCase: Test.Case?) -> Self? { isShared == (testCase == nil) ? self : nil }

    func provideScope(for _: Test, testCase _: Test.Case?, performing test: TestBody) async throws {
        try await run { _ in try await test() }
    }

    /// Runs the service on an empty schema, or as another instance on a given registry.
    func run<Value>(
        on registry: Registry? = nil,
        clock: ServiceClock? = nil,
        logger: Logger = .silent,
        _ test: (LiveServer) async throws -> Value
    ) async throws -> Value {
        let database = registry == nil ? try await TestDatabase.withScope().0 : Self.running?.database
        guard let registry = registry ?? database?.registry else { fatalError("There is no database.") }
        let manualClock = ManualClock()
        var configuration = ServerConfiguration(port: 0)
        configure(&configuration)
        let responder = RegistryResponder(
            registry: registry,
            configuration: configuration,
            clock: clock ?? (hasManualClock ? manualClock.clock : .system),
            logger: logger
        )
        return try await Listener.run(configuration, responder.respond) { port in
            let server = LiveServer(port: port, registry: registry)
            let running = Running(server: server, responder: responder, database: database, clock: manualClock)
            return try await Self.$running.withValue(running) { try await test(server) }
        }
    }
}

extension Trait where Self == ServiceTrait {
    /// Without authentication.
    static var service: Self { service { _ in } }
    static var secureService: Self { ServiceTrait { _ in } }

    static func service(_ configure: @escaping @Sendable (inout ServerConfiguration) -> Void) -> Self {
        ServiceTrait {
            $0.insecureNoAuth = true
            configure(&$0)
        }
    }

    static func secureService(_ configure: @escaping @Sendable (inout ServerConfiguration) -> Void) -> Self {
        ServiceTrait(configure: configure)
    }

    /// With authentication, and a clock that stands still.
    static func timedService(_ configure: @escaping @Sendable (inout ServerConfiguration) -> Void = { _ in }) -> Self {
        ServiceTrait(hasManualClock: true, configure: configure)
    }

    /// One service for all tests of a suite, or for all cases of a test. They must use different records.
    static func shared(_ trait: ServiceTrait) -> Self {
        ServiceTrait(isShared: true, hasManualClock: trait.hasManualClock, configure: trait.configure)
    }
}

private var running: ServiceTrait.Running {
    ServiceTrait.running ?? { fatalError("The test lacks a trait of ServiceTrait.") }()
}
/// The service of a test with ``ServiceTrait``, its internals, its database, and its clock.
var server: LiveServer { running.server }
var responder: RegistryResponder { running.responder }
var database: TestDatabase { running.database ?? { fatalError("The service has no database of this test.") }() }
var clock: ManualClock { running.clock }

extension ServerConfiguration {
    /// Trusts the test as a proxy, so a request can name any address as its caller's.
    mutating func trustTest() { trustedProxies = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) } }
}

extension HTTPFields {
    static func bearer(_ text: String) -> HTTPFields { [.authorization: "Bearer \(text)"] }
    func from(_ address: String) -> HTTPFields { with(.forwardedFor, address) }
    func on(_ installation: String) -> HTTPFields { with(.installationID, installation) }

    func with(_ name: HTTPField.Name, _ value: String) -> HTTPFields {
        var fields = self
        fields[name] = value
        return fields
    }
}

extension HTTPField.Name {
    static let forwardedFor = HTTPField.Name("X-Forwarded-For")!
    static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy")!
}

extension CallerNetwork { static func of(_ address: String) -> CallerNetwork? { CallerNetwork(IPAddress(address)) } }
