import EmbeddedPostgres
import Logging
import PostgresDriver
import RegistryCore
import RegistryStore

struct Database: Sendable {
    let pool: PostgresPool
    let logger: Logger
    let registry: Registry

    var migrator: SchemaMigrator { SchemaMigrator(pool: pool) }

    fileprivate func prepareSchema(_ policy: SchemaPolicy) async throws {
        switch policy {
        case .migrate:
            _ = try await migrator.migrate { migration in
                logger.info("migrated", metadata: ["migration": "\(migration.version) \(migration.name)"])
            }
        case .require: try await migrator.checkCompatible()
        case .leave, .look: break
        }
    }
}

/// How a command treats the schema before its own work.
enum SchemaPolicy: Sendable {
    case migrate
    /// Upgrades an embedded database. Rejects any other database that is behind or ahead.
    case require
    /// Accepts any schema.
    case leave
    /// Accepts any schema, and does not create an embedded database.
    case look
}

struct ConnectionLimits: Sendable {
    var maximumConnections = 2
    var requestTimeout: Duration = .seconds(10)
}

extension DatabaseSettings {
    func withDatabase<Result: Sendable>(
        _ policy: SchemaPolicy = .require,
        limits: ConnectionLimits = ConnectionLimits(),
        logger: Logger = .lines(style: .text, level: .error),
        _ body: (Database) async throws -> Result
    ) async throws -> Result {
        switch location {
        case .remote(let connectionString):
            return try await withPool(connectionString.revealed, policy, limits, logger, body)
        case .embedded(let directory):
            guard policy != .look || EmbeddedPostgres.holdsDatabase(directory) else {
                throw CommandFailure(.unavailable, "\(directory) has no database: pushreg serve creates it.")
            }
            let postgres = try await EmbeddedPostgres.open(directory, logger: logger)
            // Only this program uses an embedded Postgres, so it upgrades the schema.
            let policy = policy == .require ? .migrate : policy
            return try await closing(
                after: { try await withPool(postgres.connectionString, policy, limits, logger, body) },
                { await postgres.close() }
            )
        }
    }

    private func withPool<Result: Sendable>(
        _ connectionString: String,
        _ policy: SchemaPolicy,
        _ limits: ConnectionLimits,
        _ logger: Logger,
        _ body: (Database) async throws -> Result
    ) async throws -> Result {
        let pool = PostgresPool(
            databaseURL: connectionString,
            maximumConnections: limits.maximumConnections,
            requestTimeout: limits.requestTimeout,
            allowsUnsafeDurability: allowsUnsafeDurability,
            logger: logger
        )
        let registry = Registry(pool: pool, logger: logger)
        let database = Database(pool: pool, logger: logger, registry: registry)
        return try await closing(
            after: {
                try await database.prepareSchema(policy)
                return try await body(database)
            },
            { await pool.shutdown() }
        )
    }
}

/// Completes `close` even if the task was cancelled.
func closing<Result: Sendable>(
    after body: () async throws -> Result,
    _ close: @escaping @Sendable () async -> Void
) async throws -> Result {
    let outcome: Swift.Result<Result, any Error>
    do {
        outcome = .success(try await body())
    } catch { outcome = .failure(error) }
    await Task { await close() }.value
    return try outcome.get()
}
