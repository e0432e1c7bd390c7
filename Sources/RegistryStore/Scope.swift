import PostgresDriver
import RegistryCore

/// One app in one APNs environment: what every call but the apps' own is about.
package struct Scope: Sendable, Hashable {
    /// The app, with its settings as the caller read them.
    package let app: App
    /// The APNs environment; nothing of one environment is seen in the other.
    package let environment: APNSEnvironment

    /// Makes a scope of its two parts.
    package init(app: App, environment: APNSEnvironment) {
        self.app = app
        self.environment = environment
    }

    /// Whether statements may mix work of both: apps are told apart by their number, whatever is known of their settings.
    func sharesStatements(with other: Scope) -> Bool {
        app.number == other.app.number && environment == other.environment
    }
}

extension Scope {
    /// The condition that a row is of the scope.
    ///
    /// - Parameter row: the row's name in the statement.
    func contains(_ row: String) -> SQL {
        """
        \(unescaped: row).app_number = \(app.number) \
        AND \(unescaped: row).environment = \(environment.rawValue)::apns_environment
        """
    }

    /// The same, said so that no index can be asked for it.
    func containsUnindexed(_ row: String) -> SQL {
        """
        (\(unescaped: row).app_number = \(app.number)) IS TRUE
            AND (\(unescaped: row).environment = \(environment.rawValue)::apns_environment) IS TRUE
        """
    }
}
