import EmbeddedPostgres
import Foundation
import Logging
import PostgresDriver
import RegistryCore
import RegistryStore

package struct OwnCluster: Sendable {
    /// The directory of the cluster's files; Postgres uses its subdirectory `data`.
    package let directory: URL

    package init() {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("cluster-\(UUID().uuidString)")
    }

    /// Copies the stopped cluster as a standby.
    package func standby() async throws -> OwnCluster {
        let copy = OwnCluster()
        // Keeps the owner, who differs from root.
        try await Shell.run(
            #"cp -a "$from" "$to" && cp -a "$to/data/PG_VERSION" "$to/data/standby.signal""#,
            ["from": directory.path, "to": copy.directory.path]
        )
        return copy
    }

    /// Runs the cluster during the closure.
    ///
    /// - Parameter location: the position in the primary's log that a standby must reach before its promotion.
    package func run<Value: Sendable>(
        settings: [String: String] = [:],
        promotedAt location: String? = nil,
        _ body: (_ registry: Registry, _ pool: PostgresPool) async throws -> Value
    ) async throws -> Value {
        let logger = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        let all = ["fsync": "off"].merging(settings) { $1 }
        let postgres = try await EmbeddedPostgres.open(directory.path, settings: all, logger: logger)
        let pool = TestDatabase.pool(postgres.connectionString, connections: 4, timeout: .seconds(60))
        let result: Result<Value, any Error>
        do {
            if let location { try await Self.promote(pool, at: UTF8Text(location)) }
            // The server accepts readers during its recovery.
            try await until {
                try await pool.withSession { try $0.execute("SELECT NOT pg_is_in_recovery()")[0].decode(Bool.self) }
            }
            try await SchemaMigrator(pool: pool).migrate()
            result = .success(try await body(Registry(pool: pool, logger: logger), pool))
        } catch { result = .failure(error) }
        await pool.shutdown()
        await postgres.close()
        return try result.get()
    }

    private static func promote(_ pool: PostgresPool, at location: UTF8Text) async throws {
        try await until {
            try await pool.withSession { session in
                try session.execute(
                    "SELECT coalesce(pg_last_wal_replay_lsn() >= \(location)::text::pg_lsn, false)"
                )[0].decode(Bool.self)
            }
        }
        _ = try await pool.withSession { try $0.execute("SELECT pg_promote()").count }
    }

    package func remove() { try? FileManager.default.removeItem(at: directory) }
}
