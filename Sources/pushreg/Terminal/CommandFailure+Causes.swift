import EmbeddedPostgres
import PostgresDriver
import RegistryStore

extension CommandFailure {
    /// Says why the database is not to be had; nil for errors that this program does not foresee.
    init?(cause error: any Error) {
        switch error {
        case let error as PostgresError:
            self.init(.unavailable, "Postgres is not available: \(error)")
        case let error as UnsafeDurability: self.init(.unavailable, error.description)
        case let error as SchemaError: self.init(.unavailable, error.description)
        case let error as EmbeddedPostgresError: self.init(.unavailable, error.description)
        default: return nil
        }
    }
}
