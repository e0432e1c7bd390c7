import Foundation
import PostgresDriver
import RegistryCore

package struct Readiness: Sendable, Hashable {
    /// `server_version`, for example `15.4 (Debian 15.4-1)`.
    package let serverVersion: String
    /// The last applied migration. It may be newer than this program.
    package let schemaVersion: Int
}

extension Registry {
    /// A newer schema counts as ready, because old instances continue during an upgrade until they are replaced. They
    /// do not start on it.
    ///
    /// - Throws: `unavailable` if Postgres is down, is a standby, or has an older schema.
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
}
