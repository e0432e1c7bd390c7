import HTTPTypes
import PostgresDriver
import RegistryCore
import RegistryStore
import TestSupport
import Testing

@testable import RegistryServer

/// A request's deadline covers its lookups, its wait for a worker and its work.
@Suite(.timeLimit(.minutes(15))) struct RequestTimeTests {
    private static let requestTimeout = Duration.seconds(4)

    /// Runs the service with a short deadline, and gives the test a way to lock tables.
    private static func run(_ test: (LiveServer, TestDatabase) async throws -> Void) async throws {
        let (database, _) = try await TestDatabase.withScope()
        let pool = TestDatabase.pool(database.connectionString, connections: 4, timeout: requestTimeout)
        try await ServiceTrait.service.run(on: Registry(pool: pool, logger: .silent)) { try await test($0, database) }
        await pool.shutdown()
    }

    private static func time(of call: @Sendable () async throws -> Reply) async throws -> Duration {
        let start = ContinuousClock.now
        let reply = try await call()
        #expect(reply.status == 503)
        #expect(reply.fields[.retryAfter] != nil)
        return .now - start
    }

    /// Expects a response in time if the lookup of the app takes 3 seconds and the table stays locked afterwards.
    private static func afterSlowLookup(_ call: @escaping @Sendable (LiveServer) async throws -> Reply) async throws {
        try await run { server, database in
            let work = try await HeldTransaction("LOCK TABLE activities", in: database)
            let lookup = try await HeldTransaction("LOCK TABLE apps", in: database)
            async let answered = Self.time { try await call(server) }
            _ = try await database.count("SELECT count(pg_sleep(3))")
            try await lookup.release()
            let time = try await answered
            #expect(time < .seconds(5.5), "\(time)")
            try await work.release()
        }
    }

    @Test(arguments: [true, false])
    func `A registration or cold call after a slow app lookup has the remaining time`(_ isCold: Bool) async throws {
        try await Self.afterSlowLookup {
            isCold ? try await $0.call(.get, "…/activities/a-1") : try await $0.register("a-1", token: 1)
        }
    }

    @Test func `A registration that waited for its turn has the remaining time`() async throws {
        try await Self.run { server, database in
            // The app is cached from here on.
            #expect(try await server.register("a-0", token: 100).status == 201)
            let work = try await HeldTransaction("LOCK TABLE activities", in: database)
            try await withThrowingTaskGroup(of: Void.self) { group in
                let register = { @Sendable (number: Int) in
                    let time = try await Self.time { try await server.register("a-\(number)", token: number) }
                    #expect(time < .seconds(5.25), "\(time)")
                }
                // The first ones occupy all workers for 4 seconds.
                for number in 1...10 { group.addTask { try await register(number) } }
                _ = try await database.count("SELECT count(pg_sleep(2.5))")
                for number in 11...20 { group.addTask { try await register(number) } }
                try await group.waitForAll()
            }
            try await work.release()
        }
    }
}
