import Foundation
import Logging
import PostgresDriver

extension PostgresPool {
    /// - Parameters:
    ///   - planCacheMode: nil for generic plans, or on Citus for Postgres's choice. Planning the hot statements each
    ///     time costs more than running them.
    ///   - planLifetime: how long a connection keeps its plans; nil for Postgres's default. A new plan costs about a
    ///     millisecond.
    ///   - allowsUnsafeDurability: accepts a server that can lose acknowledged writes. For tests only.
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
                if let unsafe = try UnsafeDurability.found(session).first { throw unsafe }
                // Sets each setting to its current value. A later reload of the server's settings then does not change
                // the session.
                _ = try session.execute(
                    "SELECT set_config('synchronous_commit', current_setting('synchronous_commit'), false)"
                )
            }
            try Distribution.prepare(session, choosesPlans: planCacheMode == nil)
        }
        self.init(configuration: configuration, logger: logger)
    }

    /// Session settings by name.
    ///
    /// Warnings stay on for every role and database, because a warning is the only sign of a commit that stopped
    /// waiting for the standby.
    ///
    /// Postgres assumes ten pages for a table that was never analyzed, and may keep a plan that reads all of them until
    /// autovacuum runs, about a minute. Every table has indexes for its queries, so sequential reads are made
    /// expensive. They are not disabled, because all plans that need them would then cost the same.
    static let settings = [
        "client_min_messages": "warning", "jit": "off", "TimeZone": "UTC",
        "seq_page_cost": "20", "random_page_cost": "1",
    ]
}
