import HTTPTypes
import RegistryCore
import RegistryStore
import Synchronization
import TestSupport
import Testing

@testable import RegistryServer

@Suite(.timeLimit(.minutes(2))) struct ReadinessTests {
    /// Responds when the test allows it, and counts requests.
    private final class Postgres: Sendable {
        let asked = Mutex(0)
        private let gate = AsyncStream.makeStream(of: Void.self)

        func answer() { gate.continuation.yield() }

        func ask() async throws -> Readiness {
            asked.withLock { $0 += 1 }
            for await _ in gate.stream { break }
            throw Problem(.unavailable, "away")
        }
    }

    @Test func `Concurrent checks share one query`() async throws {
        let (clock, postgres) = (ManualClock(), Postgres())
        let cache = TimedCache(lifetime: ServiceParts.readinessLifetime, clock: clock.clock) {
            try await postgres.ask()
        }
        func refused() async -> Bool {
            do { return try await cache.value().schemaVersion < 0 } catch { return true }
        }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { await refused() } }
            while postgres.asked.withLock({ $0 }) == 0 { await Task.yield() }
            postgres.answer()
            for await isRefused in group { #expect(isRefused) }
        }
        #expect(postgres.asked.withLock { $0 } == 1)
        clock.advance(by: .milliseconds(99))
        #expect(await refused())
        #expect(postgres.asked.withLock { $0 } == 1)
        clock.advance(by: .milliseconds(1))
        postgres.answer()
        #expect(await refused())
        #expect(postgres.asked.withLock { $0 } == 2)
    }

    @Test func `Concurrent verbose checks share one query`() async throws {
        let database = try await TestDatabase.make()
        try await LiveServer.run(on: database.registry, clock: ManualClock().clock) {
            (server: LiveServer) async throws in
            let before = database.registry.metrics.statements[.reads]?.snapshot.count ?? 0
            for path in ["/readyz", "/readyz?verbose", "/readyz", "/readyz?verbose"] {
                #expect(try await server.call(.get, path).status == 200)
            }
            #expect(database.registry.metrics.statements[.reads]?.snapshot.count == before + 1)
        }
    }
}
