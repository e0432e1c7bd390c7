import Foundation
import Logging
import PostgresDriver

extension PostgresPool {
    /// A pool with the settings that the registry needs.
    ///
    /// - Parameters:
    ///   - planCacheMode: nil is generic plans, but on Citus Postgres's own choice. The hot statements are prepared once;
    ///     planning them anew each time costs more than running them.
    ///   - planLifetime: how long a connection keeps its plans; nil is as long as Postgres does. A plan anew costs about a
    ///     millisecond.
    ///   - allowsUnsafeDurability: takes a server that can lose acknowledged writes; for tests alone.
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
        // However much the rest is asked for, registrations and resolutions go on.
        configuration.reservedConnections = maximumConnections > 1 ? max(1, maximumConnections / 4) : 0
        configuration.requestTimeout = requestTimeout
        configuration.planCacheMode = planCacheMode ?? .forceGenericPlan
        configuration.planLifetime = planLifetime
        configuration.settings = Self.settings
        configuration.onConnect = { session in
            if !allowsUnsafeDurability {
                try UnsafeDurability.refuse(session)
                // As it was found, it stays: a session's own value is kept when the server's settings are read again.
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
    /// A warning is the one sign of a commit that was given up before the standby had it, so warnings come, whatever the role's or
    /// the database's settings say.
    ///
    /// A table that was never analyzed is taken for one of ten pages, and a plan that reads those stays until autovacuum
    /// comes by: a minute in which everybody reads the whole table. Every table has an index for what is asked of it, so
    /// reading pages in their order is made dear; not forbidden, for then all plans that must would look alike.
    static let settings = [
        "client_min_messages": "warning", "jit": "off", "TimeZone": "UTC",
        "seq_page_cost": "20", "random_page_cost": "1",
    ]
}
