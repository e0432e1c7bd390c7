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

package enum TestServer {
    private static let directories = Mutex<[String]>([])

    static func open(_ directory: String, _ settings: [String: String]) async throws -> EmbeddedPostgres {
        endAtExit(directory)
        let common = ["fsync": "off", "max_connections": "400"]
        return try await EmbeddedPostgres.open(
            directory,
            settings: common.merging(settings) { $1 },
            logger: Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Ends the server in a directory and removes the directory, when the test run ends.
    package static func endAtExit(_ directory: String) {
        let isFirst = directories.withLock { directories in
            directories.append(directory)
            return directories.count == 1
        }
        // Asynchronous code cannot run at exit.
        if isFirst { atexit { for directory in TestServer.directories.withLock(\.self) { TestServer.end(directory) } } }
    }

    package static func end(_ directory: String) {
        if let process = postmaster(in: directory) { kill(process, SIGQUIT) }
        try? FileManager.default.removeItem(atPath: directory)
    }

    package static func postmaster(in directory: String) -> pid_t? {
        let text = try? String(contentsOfFile: directory + "/data/postmaster.pid", encoding: .utf8)
        return text?.split(separator: "\n").first.flatMap { pid_t($0) }
    }
}

extension TestDatabase {
    package static func run(_ script: String, on connectionString: String) async throws {
        try await withPool(connectionString) { pool in
            try await pool.withSession(timeout: .seconds(240)) { session in
                try session.simple("SET statement_timeout = 0")
                try session.simple(script)
            }
        }
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
