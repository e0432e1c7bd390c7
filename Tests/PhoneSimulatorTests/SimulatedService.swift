import Foundation
import Logging
import PushTokenRegistry
import RegistryServer
import TestSupport

/// The real service on Postgres, with an app and users with JWTs.
struct SimulatedService: Sendable {
    static let bundleID = "com.example.food"
    /// Long enough that no activity expires in a world that begins days ago.
    static let lifetime = "PT168H"
    let url: URL
    let clientKey: String
    let adminKey: String
    let transport: HTTPTransport

    static func run<Value: Sendable>(
        lifetime: String = lifetime,
        _ body: @Sendable (SimulatedService) async throws -> Value
    ) async throws -> Value {
        let database = try await TestDatabase.make(maximumConnections: 16)
        var configuration = ServerConfiguration(port: 0, insecureNoAuth: true)
        configuration.keyRate = nil
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return try await serve {
            try Server(registry: database.registry, configuration: configuration, logger: logger, onServing: $0)
        } _: { port in
            let url = URL(string: "http://127.0.0.1:\(port)")!
            let transport = HTTPTransport.urlSession
            let root = SenderView(service: url, key: nil, transport: transport)
            let app: [String: Any] = [
                "name": "Food", "activityLifetime": lifetime, "tombstoneRetention": "PT200H",
                "jwt": Issuer.shared.settings,
            ]
            _ = try await root.call("PUT", "/v1/apps/\(bundleID)", app)
            let service = SimulatedService(
                url: url,
                clientKey: try await root.key("client"),
                adminKey: try await root.key("admin"),
                transport: transport
            )
            return try await body(service)
        }
    }

    var sender: SenderView { SenderView(service: url, key: adminKey, transport: transport) }
}

extension SenderView {
    fileprivate func key(_ role: String) async throws -> String {
        let made = try await call("POST", "/v1/apps/\(SimulatedService.bundleID)/keys", ["role": role])
        guard let key = made["key"] as? String else { throw UnexpectedAnswer("no key of the role \(role)") }
        return key
    }
}
