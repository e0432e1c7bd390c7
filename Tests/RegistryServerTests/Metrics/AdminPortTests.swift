import HTTPTypes
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(15))) struct AdminPortTests {
    @Test func `The admin port serves metrics and probes to every caller, and nothing else`() async throws {
        let registry = try await TestDatabase.withScope().0.registry
        var configuration = ServerConfiguration(port: 0)
        (configuration.adminPort, configuration.version) = (0, "1.2.3")
        let (ports, known) = AsyncStream.makeStream(of: Int.self)
        try await serve {
            try Server(
                registry: registry,
                configuration: configuration,
                logger: .silent,
                onServing: $0,
                onServingAdmin: { known.yield($0) }
            )
        } _: { port in
            let main = LiveServer(port: port, registry: registry)
            let admin = LiveServer(port: try #require(await ports.first { _ in true }), registry: registry)
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
