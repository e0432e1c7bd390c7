import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct PoolShareTests {
    @Test func `Hot calls continue while other work fills the pool`() async throws {
        let database = try await TestDatabase.make(maximumConnections: 4)
        let (registry, scope) = (database.registry, try await database.scope())
        var held: [HeldTransaction] = []
        for _ in 0..<3 { held.append(try await HeldTransaction("SELECT 1", in: database)) }
        async let apps = registry.apps()
        while registry.connections.waiting < 1 { await Task.yield() }
        // All registrations use the connection that is reserved for hot work.
        for number in 0..<8 {
            let registration = ActivityRegistration.sample(token: .sample(number))
            _ = try await registry.register(registration, as: .sample("a-\(number)"), in: scope, by: "x")
            #expect(try await registry.storedKeys(APIKey(random: .sender).id).isEmpty)
            #expect(try await registry.app(BundleID("com.example.food")) == scope.app)
            #expect(try await registry.checkReadiness().schemaVersion > 0)
        }
        #expect(registry.connections.waiting == 1)
        #expect(registry.connections.opened == 4)
        try await held.removeLast().release()
        #expect(try await apps.count == 1)
        for transaction in held { try await transaction.release() }
    }
}
