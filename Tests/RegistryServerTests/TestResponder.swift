import HTTPTypes
import RegistryStore

@testable import RegistryServer

/// A service with visible internals. It trusts the test as a proxy, so a request can name any address as its caller's.
struct TestResponder {
    static let forwarded = HTTPField.Name("X-Forwarded-For")!
    let responder: RegistryResponder

    init(
        _ registry: Registry,
        insecureNoAuth: Bool = false,
        clock: ServiceClock = .system,
        _ adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) {
        let settings = Self.configuration(insecureNoAuth, adjust)
        responder = RegistryResponder(registry: registry, configuration: settings, clock: clock, logger: .silent)
    }

    static func configuration(
        _ insecureNoAuth: Bool = false,
        _ adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) -> ServerConfiguration {
        var configuration = ServerConfiguration(port: 0, insecureNoAuth: insecureNoAuth)
        configuration.trustedProxies = ["127.0.0.0/8", "::1"].compactMap { AddressRange($0) }
        adjust(&configuration)
        return configuration
    }

    func run(_ registry: Registry, _ test: @Sendable (LiveServer) async throws -> Void) async throws {
        try await LiveServer.run(responder, Self.configuration(), test)
    }
}

extension HTTPFields {
    func from(_ address: String) -> HTTPFields {
        var fields = self
        fields[TestResponder.forwarded] = address
        return fields
    }
}

extension CallerNetwork {
    static func of(_ address: String) -> CallerNetwork? { CallerNetwork(IPAddress(address)) }
}
