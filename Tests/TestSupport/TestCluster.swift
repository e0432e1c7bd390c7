import EmbeddedPostgres
import Foundation
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
        return try await EmbeddedPostgres.open(directory, settings: common.merging(settings) { $1 }, logger: .silent)
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
        return try await perform({ try await body(pool) }, andThen: { await pool.shutdown() })
    }
}

/// A Citus coordinator and two workers, if Postgres has the extension.
package actor CitusCluster: TestServers {
    package static let shared = CitusCluster()

    struct Nodes: Sendable {
        let coordinator: String
        let workers: [String]
    }

    private var opening: Task<Nodes, any Error>?
    private var making: Task<Void, any Error>?

    package static var isAvailable: Bool {
        get async throws {
            try await TestDatabase.withPool(TestCluster.shared.connectionString()) { pool in
                try await pool.withSession {
                    try $0.execute("SELECT FROM pg_available_extensions WHERE name = 'citus'").rows.count > 0
                }
            }
        }
    }

    package func make(_ name: String, isAlone: Bool) async throws -> String {
        let nodes = try await nodes()
        if isAlone {
            // Sequentially, because two simultaneous changes of a catalog row fail with an internal error.
            let databases = Task { [making] in
                _ = await making?.result
                try await Self.makeDatabase(name, on: nodes)
            }
            making = databases
            try await databases.value
        } else {
            try await TestDatabase.run("CREATE SCHEMA \(name)", on: nodes.coordinator)
        }
        let database = nodes.coordinator + (isAlone ? " dbname=\(name)" : "")
        let path = isAlone ? "public" : name
        // Fewer shards are faster to create, and still put apps on both workers.
        let migrating = database + " options='-csearch_path=\(path) -ccitus.shard_count=4'"
        try await TestDatabase.withPool(migrating) { _ = try await SchemaMigrator(pool: $0).migrate(distributes: true) }
        return database + " options='-csearch_path=\(path)'"
    }

    /// The databases of a coordinator without workers and of a worker, both without tables.
    package func undistributed() async throws -> (coordinator: String, worker: String) {
        let (nodes, name) = (try await nodes(), "lonely_\(UInt32.random(in: .min ... .max))")
        try await TestDatabase.run("CREATE DATABASE \(name)", on: nodes.coordinator)
        let lonely = nodes.coordinator + " dbname=\(name)"
        try await TestDatabase.run("CREATE EXTENSION citus", on: lonely)
        return (lonely, nodes.workers[0])
    }

    func nodes() async throws -> Nodes {
        if let opening { return try await opening.value }
        let task = Task { try await Self.start() }
        opening = task
        return try await task.value
    }

    private static func start() async throws -> Nodes {
        var servers: [String] = []
        for name in ["c", "w1", "w2"] {
            let server = try await TestServer.open("/tmp/pushreg-test-\(getpid())-\(name)", settings)
            servers.append(server.connectionString)
        }
        let nodes = Nodes(coordinator: servers[0], workers: Array(servers.dropFirst()))
        try await connect(nodes, database: nil)
        return nodes
    }

    private static let settings = [
        "shared_preload_libraries": "citus", "max_prepared_transactions": "400", "wal_level": "logical",
        "max_locks_per_transaction": "512", "shared_buffers": "128MB",
    ]

    private static func makeDatabase(_ name: String, on nodes: Nodes) async throws {
        // The pool refuses a worker's database with the extension.
        for server in [nodes.coordinator] + nodes.workers {
            try await TestDatabase.run("CREATE DATABASE \(name)", on: server + " dbname=postgres")
        }
        try await connect(nodes, database: name)
    }

    /// Installs the extension in a database on all nodes, and adds the workers to the coordinator.
    private static func connect(_ nodes: Nodes, database: String?) async throws {
        let suffix = database.map { " dbname=\($0)" } ?? ""
        for server in nodes.workers + [nodes.coordinator] {
            try await TestDatabase.run("CREATE EXTENSION citus", on: server + suffix)
        }
        let coordinator = nodes.coordinator + suffix
        let naming = "SELECT citus_set_coordinator_host('\(host(nodes.coordinator))', 5432)"
        try await TestDatabase.run(naming, on: coordinator)
        for worker in nodes.workers {
            try await TestDatabase.run("SELECT citus_add_node('\(host(worker))', 5432)", on: coordinator)
        }
    }

    private static func host(_ connectionString: String) -> String { connectionString.components(separatedBy: "'")[1] }
}
