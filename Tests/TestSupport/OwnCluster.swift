import EmbeddedPostgres
import Foundation
import PostgresDriver
import RegistryStore

package struct OwnCluster: Sendable {
    /// The directory of the cluster's files; Postgres uses its subdirectory `data`.
    package let directory: URL

    package init() {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("cluster-\(UUID().uuidString)")
    }

    /// Runs the cluster during the closure.
    package func run<Value: Sendable>(
        settings: [String: String] = [:],
        _ body: (_ registry: Registry) async throws -> Value
    ) async throws -> Value {
        let all = ["fsync": "off"].merging(settings) { $1 }
        let postgres = try await EmbeddedPostgres.open(directory.path, settings: all, logger: .silent)
        return try await perform {
            try await TestDatabase.withPool(postgres.connectionString) { pool in
                // The server accepts readers during its recovery.
                try await until {
                    try await pool.withSession { try $0.execute("SELECT NOT pg_is_in_recovery()")[0].decode(Bool.self) }
                }
                try await SchemaMigrator(pool: pool).migrate()
                return try await body(Registry(pool: pool, logger: .silent))
            }
        } andThen: {
            await postgres.close()
        }
    }

    package func remove() { try? FileManager.default.removeItem(at: directory) }
}
