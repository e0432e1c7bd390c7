import PostgresDriver
import RegistryCore

/// One app in one APNs environment: the subject of every call but the apps' own.
package struct Scope: Sendable, Hashable {
    package let app: App
    package let environment: APNSEnvironment

    package init(app: App, environment: APNSEnvironment) {
        self.app = app
        self.environment = environment
    }

    /// Whether statements may mix work of both: apps are compared by number, regardless of their settings.
    func sharesStatements(with other: Scope) -> Bool {
        app.number == other.app.number && environment == other.environment
    }
}

extension Scope {
    func contains(_ row: String) -> SQL {
        """
        \(unescaped: row).app_number = \(app.number) \
        AND \(unescaped: row).environment = \(environment.rawValue)::apns_environment
        """
    }

    /// Written so that no index can be used for it.
    func containsUnindexed(_ row: String) -> SQL {
        """
        (\(unescaped: row).app_number = \(app.number)) IS TRUE
            AND (\(unescaped: row).environment = \(environment.rawValue)::apns_environment) IS TRUE
        """
    }
}
