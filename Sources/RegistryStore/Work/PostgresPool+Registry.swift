import Foundation
import Logging
import PostgresDriver

extension PostgresPool {
    /// A pool with the registry's settings.
    ///
    /// - Parameters:
    ///   - planCacheMode: nil is generic plans, but on Citus Postgres's own choice. The hot statements are prepared
    ///     once; planning them anew each time costs more than running them.
    ///   - planLifetime: how long a connection keeps its plans; nil is as long as Postgres does. A new plan costs about
    ///     a millisecond.
    ///   - allowsUnsafeDurability: accepts a server that can lose acknowledged writes; only for tests.
    package convenience init(
        databaseURL: String,
        maximumConnections: Int = 16,
        requestTimeout: Duration = .seconds(5),
        planCacheMode: PlanCacheMode? = nil,
        planLifetime: Duration? = .seconds(10),
        allowsUnsafeDurability: Bool = false,
        logger: Logger
    ) {
        var configuration = PostgresConfiguration(connectionString: databaseURL)
        configuration.applicationName = "pushreg"
        configuration.maximumConnections = maximumConnections
        // Registrations and resolutions continue under any other load.
        configuration.reservedConnections = maximumConnections > 1 ? max(1, maximumConnections / 4) : 0
        configuration.requestTimeout = requestTimeout
        configuration.planCacheMode = planCacheMode ?? .forceGenericPlan
        configuration.planLifetime = planLifetime
        configuration.settings = Self.settings
        configuration.onConnect = { session in
            if !allowsUnsafeDurability {
                try UnsafeDurability.refuse(session)
                // Set to its current value: a session's own value is kept when the server's settings are reloaded.
                _ = try session.execute(
                    "SELECT set_config('synchronous_commit', current_setting('synchronous_commit'), false)"
                )
            }
            try Distribution.prepare(session, choosesPlans: planCacheMode == nil)
        }
        self.init(configuration: configuration, logger: logger)
    }

    /// The settings of a session by their names.
    ///
    /// A warning is the only sign of a commit that was given up before the standby had it, so warnings are on, whatever
    /// the role's or the database's settings are.
    ///
    /// Postgres assumes ten pages for a table that was never analyzed, and a plan that reads those stays until
    /// autovacuum runs: for a minute all sessions read the whole table. Every table has an index for its queries, so
    /// sequential reads are made expensive; not forbidden, because then all plans that need them would look equal.
    static let settings = [
        "client_min_messages": "warning", "jit": "off", "TimeZone": "UTC",
        "seq_page_cost": "20", "random_page_cost": "1",
    ]
}
