import Foundation
import PostgresDriver

/// How Postgres does, as it says itself: its condition, and what explains it.
public struct PostgresHealth: Sendable {
    /// A table, with all of its partitions.
    public struct Table: Sendable, Hashable {
        /// The name of the table; `events` stands for all its partitions.
        public let name: String
        /// As far as Postgres has counted; rows that are dead wait for vacuum.
        public let rows: Int
        /// How many rows wait for vacuum, as Postgres has counted.
        public let deadRows: Int
        /// In bytes, with indexes.
        public let size: Int
        /// The last vacuum, by autovacuum or by hand; nil when there was none.
        public let vacuumedAt: Date?
        /// The last analysis for the planner, by autovacuum or by hand; nil when there was none.
        public let analyzedAt: Date?
    }

    /// The version, the settings and the clock, and all else that findings are made of.
    public let condition: DatabaseCondition
    /// When the server was started.
    public let startedAt: Date
    /// Of the database, in bytes.
    public let size: Int
    /// How long the longest transaction has lasted by now.
    public let longestTransaction: Duration?
    /// Sessions that wait for a lock.
    public let waiting: Int
    /// Blocks found in memory and not, since the statistics were reset.
    public let blocksHit: Int
    /// Blocks that were not in Postgres's own memory, so that it read them from a file.
    public let blocksRead: Int
    /// Deadlocks in this database, since the statistics were reset.
    public let deadlocks: Int
    /// Transactions of this database that were committed, since the statistics were reset.
    public let commits: Int
    /// Transactions of this database that were rolled back, since the statistics were reset.
    public let rollbacks: Int
    /// The standbys that commits wait for, as they are configured; empty for none.
    public let synchronousStandbys: String
    /// Standbys that are connected.
    public let standbys: Int
    /// The tables of the schema, the largest first.
    public internal(set) var tables: [Table] = []
    /// The migrations that were applied.
    public internal(set) var migrations: [AppliedMigration] = []

    init(_ condition: DatabaseCondition, _ row: PostgresRow) throws {
        self.condition = condition
        startedAt = try row.column(0, as: Date.self)
        size = try row.column(1, as: Int.self)
        longestTransaction = try row.column(2, as: Duration?.self)
        waiting = try row.column(3, as: Int.self)
        blocksHit = try row.column(4, as: Int.self)
        blocksRead = try row.column(5, as: Int.self)
        deadlocks = try row.column(6, as: Int.self)
        commits = try row.column(7, as: Int.self)
        rollbacks = try row.column(8, as: Int.self)
        synchronousStandbys = try row.column(9, as: String.self)
        standbys = try row.column(10, as: Int.self)
    }
}

extension PostgresHealth.Table {
    /// Reads the columns of ``HealthStatements/tables``.
    fileprivate init(_ row: PostgresRow) throws {
        (name, rows, deadRows, size, vacuumedAt, analyzedAt) = try row.decode(
            String.self,
            Int.self,
            Int.self,
            Int.self,
            Date?.self,
            Date?.self
        )
    }
}

extension Registry {
    /// Asks Postgres how it does.
    public func health() async throws -> PostgresHealth {
        try await read { session in
            let condition = try DatabaseCondition(session)
            let results = try session.pipeline([
                HealthStatements.server, HealthStatements.tables, HealthStatements.migrations,
            ])
            var health = try PostgresHealth(condition, results[0][0])
            health.tables = try results[1].rows.map { try PostgresHealth.Table($0) }
            health.migrations = try results[2].rows.map { try AppliedMigration($0) }
            return health
        }
    }
}
