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

    private static func lock(_ table: String, for seconds: Int, in database: TestDatabase) async throws {
        try await database.pool.withSession { session in
            try session.transaction { transaction in
                _ = try transaction.execute("LOCK TABLE \(unescaped: table) IN ACCESS EXCLUSIVE MODE")
                // A statement has 4 seconds.
                for _ in 0..<seconds { _ = try transaction.execute("SELECT pg_sleep(1)") }
            }
        }
    }

    private static func untilLocked(_ table: String, in database: TestDatabase) async throws {
        try await until {
            let locks: SQL = """
                SELECT count(*) FROM pg_locks
                WHERE mode = 'AccessExclusiveLock' AND granted AND relation = \(table)::text::regclass
                """
            return try await database.count(locks) == 1
        }
    }

    private static func time(of call: () async throws -> Reply) async throws -> Duration {
        let start = ContinuousClock.now
        let reply = try await call()
        #expect(reply.status == 503)
        #expect(reply.fields[.retryAfter] != nil)
        return .now - start
    }

    /// Expects a response in time if the lookup of the app takes 3 seconds and the table stays locked afterwards.
    private static func afterSlowLookup(_ call: @escaping @Sendable (LiveServer) async throws -> Reply) async throws {
        try await run { server, database in
            async let lookup: Void = lock("apps", for: 3, in: database)
            async let work: Void = lock("activities", for: 8, in: database)
            for table in ["apps", "activities"] { try await untilLocked(table, in: database) }
            let time = try await time { try await call(server) }
            #expect(time < .seconds(5.5), "\(time)")
            _ = try await (lookup, work)
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
            async let work: Void = Self.lock("activities", for: 9, in: database)
            try await Self.untilLocked("activities", in: database)
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
            try await work
        }
    }
}
