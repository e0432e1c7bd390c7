import EmbeddedPostgres
import Foundation
import PostgresDriver
import RegistryStore

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
                try await pool.withSession { session in
                    try session.execute("SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'citus')")[0]
                        .decode(Bool.self)
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
        let names = ["c", "w1", "w2"]
        var servers: [String] = []
        for name in names {
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
