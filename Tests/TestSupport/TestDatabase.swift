import EmbeddedPostgres
import Foundation
import Logging
import PostgresDriver
import RegistryCore
import RegistryStore
import Synchronization

/// A schema of its own for one test, in a throwaway cluster that the test process shares.
public struct TestDatabase: Sendable {
    /// The connection string of the test's own schema or database, in libpq's `keyword=value` form.
    public let connectionString: String
    /// The pool that ``registry`` works with.
    public let pool: PostgresPool
    /// The store under test, on the migrated schema.
    public let registry: Registry

    /// Makes a migrated schema.
    ///
    /// - Parameters:
    ///   - isAlone: whether it has a database of its own, too. In a shared one a transaction that another test keeps open keeps
    ///     dead rows here.
    ///   - keepsPlans: whether its connections keep their plans for as long as Postgres does, and not for ten seconds only.
    public static func make(
        maximumConnections: Int = 8,
        requestTimeout: Duration = .seconds(240),
        isAlone: Bool = false,
        keepsPlans: Bool = false
    ) async throws -> Self {
        let server = try await TestCluster.shared.connectionString()
        let name = "test_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
        let administration = Self.pool(server, connections: 1)
        _ = try await administration.withSession { session in
            try session.simple("CREATE \(isAlone ? "DATABASE" : "SCHEMA") \(name)")
        }
        await administration.shutdown()
        let connectionString = server + (isAlone ? " dbname=\(name)" : " options='-csearch_path=\(name)'")
        let pool = Self.pool(
            connectionString,
            connections: maximumConnections,
            timeout: requestTimeout,
            planLifetime: keepsPlans ? nil : .seconds(10)
        )
        try await SchemaMigrator(pool: pool).migrate()
        return Self(
            connectionString: connectionString,
            pool: pool,
            registry: Registry(pool: pool)
        )
    }

    /// Another instance of the service, as far as the store is concerned.
    ///
    /// - Parameter isSilent: whether it keeps its troubles to itself.
    public func anotherRegistry(maximumConnections: Int = 8, isSilent: Bool = false) -> Registry {
        let pool = Self.pool(connectionString, connections: maximumConnections, timeout: .seconds(240))
        let logger = isSilent ? Logger(label: "store") { _ in SwiftLogNoOpLogHandler() } : Logger(label: "store")
        return Registry(pool: pool, logger: logger)
    }

    /// Makes an app and gives its scope.
    public func scope(
        _ bundleID: String = "com.example.food",
        _ environment: APNSEnvironment = .sandbox,
        _ changes: AppChanges = AppChanges()
    ) async throws -> Scope {
        Scope(app: try await registry.put(changes, for: BundleID(bundleID), by: "test").app, environment: environment)
    }

    /// The number that a query gives, such as a count.
    public func count(_ sql: SQL) async throws -> Int {
        try await pool.withSession { try $0.execute(sql)[0].decode(Int.self) }
    }

    private static func pool(
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

/// The cluster of this test process; it is stopped and removed when the process exits.
actor TestCluster {
    static let shared = TestCluster()
    private var opening: Task<EmbeddedPostgres, any Error>?

    func connectionString() async throws -> String {
        if let opening { return try await opening.value.connectionString }
        let directory = "/tmp/pushreg-test-\(getpid())"
        TestCluster.directory.withLock { $0 = directory }
        let task = Task {
            try await EmbeddedPostgres.open(
                directory,
                settings: ["fsync": "off", "max_connections": "400", "shared_buffers": "256MB"],
                logger: Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
            )
        }
        opening = task
        let postgres = try await task.value
        TestCluster.serverProcess.withLock { $0 = postgres.serverPID }
        atexit { TestCluster.remove() }
        return postgres.connectionString
    }

    private static let directory = Mutex("")
    private static let serverProcess = Mutex(pid_t(0))

    /// Nothing asynchronous runs any more at exit: kill and remove.
    private static func remove() {
        let server = serverProcess.withLock { $0 }
        if server > 0 { kill(server, SIGQUIT) }
        try? FileManager.default.removeItem(atPath: directory.withLock { $0 })
    }
}
