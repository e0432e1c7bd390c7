import EmbeddedPostgres
import Foundation
import Logging
import PostgresDriver
import RegistryStore
import Synchronization

package protocol TestServers: Sendable {
    /// Creates a schema, or with `isAlone` a database, with the registry's tables.
    ///
    /// - Returns: the connection string.
    func make(_ name: String, isAlone: Bool) async throws -> String
}

package actor TestCluster: TestServers {
    package static let shared = TestCluster()

    /// One Postgres, or Citus if `PUSHREG_TEST_CITUS` is `1`.
    package static var usual: any TestServers {
        ProcessInfo.processInfo.environment["PUSHREG_TEST_CITUS"] == "1" ? CitusCluster.shared : shared
    }

    private var opening: Task<EmbeddedPostgres, any Error>?

    package func make(_ name: String, isAlone: Bool) async throws -> String {
        let server = try await connectionString()
        try await TestDatabase.run("CREATE \(isAlone ? "DATABASE" : "SCHEMA") \(name)", on: server)
        let connectionString = server + (isAlone ? " dbname=\(name)" : " options='-csearch_path=\(name)'")
        try await TestDatabase.withPool(connectionString) { _ = try await SchemaMigrator(pool: $0).migrate() }
        return connectionString
    }

    func connectionString() async throws -> String {
        if let opening { return try await opening.value.connectionString }
        let task = Task { try await TestServer.open("/tmp/pushreg-test-\(getpid())", ["shared_buffers": "256MB"]) }
        opening = task
        return try await task.value.connectionString
    }
}

enum TestServer {
    static func open(_ directory: String, _ settings: [String: String]) async throws -> EmbeddedPostgres {
        let isFirst = directories.withLock { directories in
            directories.append(directory)
            return directories.count == 1
        }
        let common = ["fsync": "off", "max_connections": "400"]
        let postgres = try await EmbeddedPostgres.open(
            directory,
            settings: common.merging(settings) { $1 },
            logger: Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        )
        processes.withLock { $0.append(postgres.serverPID) }
        if isFirst { atexit { TestServer.removeAll() } }
        return postgres
    }

    private static let directories = Mutex<[String]>([])
    private static let processes = Mutex<[pid_t]>([])

    /// Asynchronous code cannot run at exit.
    private static func removeAll() {
        for process in processes.withLock({ $0 }) { kill(process, SIGQUIT) }
        for directory in directories.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: directory) }
    }
}

extension TestDatabase {
    package static func run(_ script: String, on connectionString: String) async throws {
        let configuration = PostgresConfiguration(connectionString: connectionString, statementTimeout: .zero)
        let pool = PostgresPool(configuration: configuration)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await pool.withSession(timeout: .seconds(240)) { try $0.simple(script) })
        } catch { outcome = .failure(error) }
        await pool.shutdown()
        try outcome.get()
    }

    package static func withPool<Value: Sendable>(
        _ connectionString: String,
        _ body: (PostgresPool) async throws -> Value
    ) async throws -> Value {
        let pool = pool(connectionString, connections: 1)
        let outcome: Result<Value, any Error>
        do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
        await pool.shutdown()
        return try outcome.get()
    }
}
