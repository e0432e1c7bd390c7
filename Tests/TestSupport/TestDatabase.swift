import Foundation
import Logging
import PostgresDriver
import RegistryCore
import RegistryStore

/// A schema for one test, in the shared temporary servers.
package struct TestDatabase: Sendable {
    package let connectionString: String
    package let pool: PostgresPool
    package let registry: Registry

    /// Creates a migrated schema.
    ///
    /// - Parameters:
    ///   - isAlone: whether it has its own database. In a shared database, open transactions of other tests keep dead
    ///     rows.
    ///   - keepsPlans: whether connections keep their plans as long as Postgres does, instead of ten seconds.
    package static func make(
        maximumConnections: Int = 8,
        requestTimeout: Duration = .seconds(240),
        isAlone: Bool = false,
        keepsPlans: Bool = false,
        on cluster: any TestServers = TestCluster.usual
    ) async throws -> Self {
        let name = "test_" + UUID().uuidString.replacing("-", with: "").lowercased()
        let connectionString = try await cluster.make(name, isAlone: isAlone)
        let lifetime = keepsPlans ? nil : Duration.seconds(10)
        let (url, connections) = (connectionString, maximumConnections)
        let pool = Self.pool(url, connections: connections, timeout: requestTimeout, planLifetime: lifetime)
        let database = Self(connectionString: connectionString, pool: pool, registry: Registry(pool: pool))
        // For tests that advance the time. A subtraction would depend on the time zone, which Citus rejects in assignments.
        try await database.simple(
            """
            CREATE FUNCTION earlier(moment timestamptz, span interval) RETURNS timestamptz LANGUAGE sql IMMUTABLE
            RETURN (moment AT TIME ZONE 'UTC' - span) AT TIME ZONE 'UTC'
            """
        )
        return database
    }

    /// Simulates another instance of the service.
    package func anotherRegistry(maximumConnections: Int = 8, isSilent: Bool = false) -> Registry {
        let pool = Self.pool(connectionString, connections: maximumConnections, timeout: .seconds(240))
        return Registry(pool: pool, logger: isSilent ? .silent : Logger(label: "store"))
    }

    /// This database as another instance of the service uses it.
    package func on(_ registry: Registry) -> Self {
        Self(connectionString: connectionString, pool: pool, registry: registry)
    }

    package static func withScope() async throws -> (TestDatabase, Scope) {
        let database = try await make()
        return (database, try await database.scope())
    }

    package func scope(
        _ bundleID: String = "com.example.food",
        _ environment: APNSEnvironment = .sandbox,
        _ changes: AppChanges = AppChanges()
    ) async throws -> Scope {
        Scope(app: try await registry.put(changes, for: BundleID(bundleID), by: "test").app, environment: environment)
    }

    package func count(_ sql: SQL) async throws -> Int {
        try await pool.withSession { session in
            try session.pipeline(["SELECT set_config('statement_timeout', '0', true)", sql])[1][0].decode(Int.self)
        }
    }

    package func texts(_ query: SQL) async throws -> [String] {
        try await pool.withSession { try $0.execute(query).decode(String.self) }
    }

    package func execute(_ statement: SQL) async throws {
        _ = try await pool.withSession { try $0.execute(statement).count }
    }

    /// Runs a script of several statements.
    package func simple(_ script: String) async throws { try await pool.withSession { try $0.simple(script) } }

    /// In the shell's script, `$bin` is the directory of Postgres's programs, and `$database` the connection string.
    package func shell(_ script: String, _ variables: [String: String] = [:]) async throws {
        let programs = try await texts("SELECT setting FROM pg_config WHERE name = 'BINDIR'")[0]
        let known = ["bin": programs, "database": connectionString]
        try await Shell.run(script, variables.merging(known) { first, _ in first })
    }

    package static func pool(
        _ url: String,
        connections: Int,
        timeout: Duration = .seconds(240),
        planLifetime: Duration? = .seconds(10)
    ) -> PostgresPool {
        var logger = Logger(label: "test")
        logger.logLevel = .error
        return PostgresPool(
            databaseURL: url,
            maximumConnections: connections,
            requestTimeout: timeout,
            planLifetime: planLifetime,
            allowsUnsafeDurability: true,
            logger: logger
        )
    }
}

extension PostgresSession {
    /// The types that the server infers for the parameters of a query, in the order of ``Query/parameters``.
    package func parameterTypes(of query: Query) throws -> [String] {
        try simple("PREPARE described AS \(query.text)")
        let types = try execute(
            "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'described'"
        )[0].decode([String].self)
        try simple("DEALLOCATE described")
        return types
    }
}

extension Logger { package static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } } }
