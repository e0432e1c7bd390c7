import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct AdminPortTests {
    /// Runs the service; the second server is its admin port.
    private static func run(_ test: (LiveServer, LiveServer) async throws -> Void) async throws {
        let (database, _) = try await TestDatabase.withScope()
        var configuration = ServerConfiguration(port: 0)
        configuration.adminPort = 0
        configuration.version = "1.2.3"
        let (ports, known) = AsyncStream.makeStream(of: Int.self)
        try await serve {
            try Server(
                registry: database.registry,
                configuration: configuration,
                logger: .silent,
                onServing: $0,
                onServingAdmin: { known.yield($0) }
            )
        } _: { port in
            let main = LiveServer(port: port, registry: database.registry)
            let admin = try #require(await ports.first { _ in true })
            try await test(main, LiveServer(port: admin, registry: database.registry))
        }
    }

    @Test func `The admin port serves metrics and probes to every caller, and nothing else`() async throws {
        try await Self.run { main, admin in
            #expect(try await main.call(.get, "/metrics").problem == "unauthenticated")
            #expect(try await admin.call(.get, "/livez").status == 200)
            let verbose = try await admin.call(.get, "/readyz?verbose")
            #expect(verbose["checks"]["postgres"]?["status"] == "ok")
            let told = try await admin.measurements()
            #expect(told[#"pushreg_build_info{version="1.2.3",schema="\#(SchemaMigrator.currentVersion)"}"#] == 1)
            // The metrics include the service's main port.
            let refused = #"pushreg_http_requests_total{method="GET",route="/metrics",status="4xx"}"#
            #expect(told[refused] == 1)
            for path in ["/v1/apps", "/openapi.json", "…/stats"] {
                #expect(try await admin.call(.get, path).problem == "no-such-route")
            }
            #expect(try await admin.call(.post, "/metrics").problem == "method-not-allowed")
        }
    }
}
