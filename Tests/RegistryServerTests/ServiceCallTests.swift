import HTTPTypes
import RegistryCore
import RegistryStore
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(2))) struct ServiceCallTests {
    @Test(.service) func `HEAD is GET without its body`() async throws {
        let get = try await server.call(.get, "/openapi.json")
        let head = try await server.call(.head, "/openapi.json")
        #expect(head.status == 200)
        #expect(head.body.isEmpty)
        #expect(head.fields[.contentLength] == get.fields[.contentLength])
        #expect(try await server.call(.head, "…/activities/none").status == 404)
        #expect(try await server.call(.get, "/livez").status == 200)
    }

    @Test(arguments: [true, false])
    func `The service reports missing Postgres and a missing role`(_ isAway: Bool) async throws {
        let registry = Registry.away(
            isAway
                ? "host=/nonexistent dbname=none"
                : try await TestDatabase.make().connectionString + " user=nobody_of_ours",
            within: .milliseconds(500)
        )
        try await ServiceTrait.service.run(on: registry) { server in
            #expect(try await server.call(.get, "/livez").status == 200)
            for path in ["/readyz", "/readyz?verbose", "/v1/apps", "/v1/apps/a", "…/activities/a-1"] {
                let reply = try await server.call(.get, path)
                #expect(reply.status == 503 && reply.problem == "unavailable", "\(path)")
                #expect(reply.fields[.retryAfter] == "1")
            }
            #expect(try await server.call(.put, "…/activities/a-1", ["token": "00"]).problem == "unavailable")
            #expect(try await server.call(.get, "/none").problem == "no-such-route")
        }
    }

    /// Postgres responds when the test allows it.
    @Test func `Concurrent checks share one query`() async throws {
        let (clock, gate) = (ManualClock(), AsyncStream.makeStream(of: Void.self))
        let count = Mutex(0)
        let cache = TimedCache<Readiness>(lifetime: ServiceParts.readinessLifetime, clock: clock.clock) {
            count.withLock { $0 += 1 }
            for await _ in gate.stream { break }
            throw Problem(.unavailable, "away")
        }
        func isRefused() async -> Bool { await (try? cache.value()) == nil }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { await isRefused() } }
            while count.withLock({ $0 }) == 0 { await Task.yield() }
            gate.continuation.yield()
            for await isRefused in group { #expect(isRefused) }
        }
        #expect(count.withLock { $0 } == 1)
        clock.advance(by: .milliseconds(99))
        #expect(await isRefused())
        #expect(count.withLock { $0 } == 1)
        clock.advance(by: .milliseconds(1))
        gate.continuation.yield()
        #expect(await isRefused())
        #expect(count.withLock { $0 } == 2)
    }

    @Test(.timedService { $0.insecureNoAuth = true }) func `Concurrent verbose checks share one query`() async throws {
        func reads() -> Int { database.registry.metrics.statements[.reads]?.snapshot.count ?? 0 }
        let before = reads()
        for path in ["/readyz", "/readyz?verbose", "/readyz", "/readyz?verbose"] {
            #expect(try await server.call(.get, path).status == 200)
        }
        #expect(reads() == before + 1)
    }

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
            #expect(try await admin.call(.get, "/readyz?verbose")["checks"]["postgres"]?["status"] == "ok")
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
