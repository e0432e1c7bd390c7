import HTTPTypes
import Logging
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

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

    func provideScope(
        for _: Test,
        testCase _: Test.Case?,
        performing test: @Sendable () async throws -> Void
    ) async throws {
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
        return try await LiveServer.run(responder, configuration) { server in
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

extension CallerNetwork {
    static func of(_ address: String) -> CallerNetwork? { CallerNetwork(IPAddress(address)) }
}
