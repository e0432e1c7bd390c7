import Foundation
import PostgresDriver
import RegistryCore

package struct PostgresHealth: Sendable {
    package struct Table: Sendable, Hashable, DecodableRow {
        /// `events` includes all its partitions.
        package let name: String
        package let rows: Int
        package let deadRows: Int
        /// In bytes, with indexes.
        package let size: Int
        package let vacuumedAt: Date?
        package let analyzedAt: Date?

        package init(row: NamedRow) throws {
            name = try row["name"]
            rows = try row["rows"]
            deadRows = try row["dead"]
            size = try row["size"]
            vacuumedAt = try row["vacuumed"]
            analyzedAt = try row["analyzed"]
        }
    }

    package struct Server: Sendable, Hashable, DecodableRow {
        package let startedAt: Date
        package let size: Int
        package let longestTransaction: Duration?
        package let waiting: Int
        package let blocksHit: Int
        package let blocksRead: Int
        package let deadlocks: Int
        package let commits: Int
        package let rollbacks: Int
        package let synchronousStandbys: String
        package let standbys: Int

        package init(row: NamedRow) throws {
            startedAt = try row["started_at"]
            size = try row["database_size"]
            longestTransaction = try row["longest_transaction"]
            waiting = try row["waiting_for_locks"]
            blocksHit = try row["blks_hit"]
            blocksRead = try row["blks_read"]
            deadlocks = try row["deadlocks"]
            commits = try row["xact_commit"]
            rollbacks = try row["xact_rollback"]
            synchronousStandbys = try row["synchronous_standbys"]
            standbys = try row["standbys"]
        }
    }

    package let condition: DatabaseCondition
    package let server: Server
    package let tables: [Table]
    package let migrations: [AppliedMigration]
}

package struct Readiness: Sendable, Hashable {
    /// `server_version`, for example `15.4 (Debian 15.4-1)`.
    package let serverVersion: String
    /// The last applied migration. It may be newer than this program.
    package let schemaVersion: Int
}

extension Registry {
    package func health() async throws -> PostgresHealth {
        try await read { session in
            let condition = try DatabaseCondition(session)
            let results = try session.pipeline([
                Query("health.read-server")(), Query("health.list-tables")(), Query("health.list-migrations")(),
            ])
            guard let server = try results[0].decode(PostgresHealth.Server.self).first else {
                throw UnreadableRow(detail: "pg_stat_database lacks this database")
            }
            return PostgresHealth(
                condition: condition,
                server: server,
                tables: try results[1].decode(),
                migrations: try results[2].decode()
            )
        }
    }

    /// A newer schema counts as ready, because old instances continue during an upgrade until they are replaced. They
    /// do not start on it.
    package func checkReadiness() async throws -> Readiness {
        let (version, isReadOnly, schema) = try await read(priority: .hot) { session in
            try session.execute(
                """
                SELECT current_setting('server_version'), current_setting('transaction_read_only')::boolean,
                    (SELECT coalesce(max(version), 0) FROM schema_migrations)
                """
            )[0].decode(String.self, Bool.self, Int.self)
        }
        guard !isReadOnly else { throw Problem(.unavailable, "Postgres does not accept writes: it is a standby.") }
        guard schema >= SchemaMigrator.currentVersion else {
            throw Problem(.unavailable, SchemaError.behind(schema, SchemaMigrator.currentVersion).description)
        }
        return Readiness(serverVersion: version, schemaVersion: schema)
    }

    /// Run it after a bulk load. A plan made while a table was empty reads the whole table until autovacuum runs, by
    /// default a minute later. Has no effect for a role that does not own the tables.
    package func analyzeTables() async throws {
        let tables = [
            "activities", "token_values", "activity_aliases", "installations", "installation_aliases",
            "installation_tokens", "alias_identities",
        ]
        for table in tables { try await write { session in try session.simple("ANALYZE \(table)") } }
    }
}
