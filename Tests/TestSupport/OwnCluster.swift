import EmbeddedPostgres
import Foundation
import Logging
import PostgresDriver
import RegistryStore

/// A cluster of a test's own, which may be stopped, changed and started again.
public struct OwnCluster: Sendable {
    /// Where its files are; `data` is Postgres's own directory.
    public let directory: URL

    /// Makes the place of a cluster; it is made by the first ``run(settings:_:)``.
    public init() {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("cluster-\(UUID().uuidString)")
    }

    /// Starts the cluster for as long as the closure runs.
    ///
    /// - Parameter settings: those of its configuration.
    public func run<Value: Sendable>(
        settings: [String: String] = [:],
        _ body: (_ registry: Registry, _ pool: PostgresPool) async throws -> Value
    ) async throws -> Value {
        let logger = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        let all = ["fsync": "off"].merging(settings) { $1 }
        let postgres = try await EmbeddedPostgres.open(directory.path, settings: all, logger: logger)
        let pool = PostgresPool(
            databaseURL: postgres.connectionString,
            maximumConnections: 4,
            requestTimeout: .seconds(60),
            allowsUnsafeDurability: true,
            logger: logger
        )
        let result: Result<Value, any Error>
        do {
            // It answers readers before it has recovered.
            try await until {
                try await pool.withSession { try $0.execute("SELECT NOT pg_is_in_recovery()")[0].decode(Bool.self) }
            }
            try await SchemaMigrator(pool: pool).migrate()
            result = .success(try await body(Registry(pool: pool, logger: logger), pool))
        } catch {
            result = .failure(error)
        }
        await pool.shutdown()
        await postgres.close()
        return try result.get()
    }

    /// Deletes its files.
    public func remove() { try? FileManager.default.removeItem(at: directory) }
}
