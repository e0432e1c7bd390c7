/// The plans that prepared statements are run by, as Postgres's `plan_cache_mode` has it.
package enum PlanCacheMode: String, Sendable, CaseIterable {
    /// No statement is planned anew for its parameters.
    case forceGenericPlan = "force_generic_plan"
    /// Postgres compares the costs of both, and may plan anew at each execution.
    case auto
}

/// Where Postgres is and how a pool behaves. Its description leaves out the connection string.
package struct PostgresConfiguration: Sendable {
    /// A `postgresql://` URI or a `keyword=value` string, which libpq gets as it is: with several hosts,
    /// `target_session_attrs`, `sslmode`, a password and all else that libpq knows.
    package var connectionString: String
    /// The name that `pg_stat_activity` shows, unless the connection string says otherwise.
    package var applicationName: String
    /// How many connections are open at most; they are opened when needed.
    package var maximumConnections: Int
    /// How many of these are kept for hot work; all other work has the rest, and one at least.
    package var reservedConnections: Int
    /// How many callers of each priority may wait for a connection at most; more fail at once.
    package var maximumWaiting: Int
    /// How long one `withSession` may take with queueing, statements and retries, unless the caller says otherwise.
    package var requestTimeout: Duration
    /// How long one attempt to connect may take for all hosts together, with the settings and `onConnect`.
    package var connectTimeout: Duration
    /// `statement_timeout`; zero and below switch it off.
    package var statementTimeout: Duration
    /// `lock_timeout`; zero and below switch it off.
    package var lockTimeout: Duration
    /// `idle_in_transaction_session_timeout`; zero and below switch it off.
    package var idleInTransactionTimeout: Duration
    /// `plan_cache_mode`; nil leaves it as the server has it.
    package var planCacheMode: PlanCacheMode?
    /// The age at which the plans of prepared statements are given up and made anew; nil keeps them. Postgres itself does that
    /// only when a table has been analyzed: a plan that was made while a table was empty may read all of it for a minute.
    package var planLifetime: Duration?
    /// More settings by name, applied to each new connection; they win over those above.
    package var settings: [String: String]
    /// Runs once on each new connection; what it throws, callers get, and the connection is closed.
    package var onConnect: (@Sendable (borrowing PostgresSession) throws -> Void)?

    /// Makes a configuration; the properties say what each value means.
    package init(
        connectionString: String,
        applicationName: String = "PostgresDriver",
        maximumConnections: Int = 16,
        reservedConnections: Int = 0,
        maximumWaiting: Int = 1024,
        requestTimeout: Duration = .seconds(5),
        connectTimeout: Duration = .seconds(3),
        statementTimeout: Duration = .seconds(4),
        lockTimeout: Duration = .seconds(3),
        idleInTransactionTimeout: Duration = .seconds(10),
        planCacheMode: PlanCacheMode? = nil,
        planLifetime: Duration? = nil,
        settings: [String: String] = [:],
        onConnect: (@Sendable (borrowing PostgresSession) throws -> Void)? = nil
    ) {
        self.connectionString = connectionString
        self.applicationName = applicationName
        self.maximumConnections = maximumConnections
        self.reservedConnections = reservedConnections
        self.maximumWaiting = maximumWaiting
        self.requestTimeout = requestTimeout
        self.connectTimeout = connectTimeout
        self.statementTimeout = statementTimeout
        self.lockTimeout = lockTimeout
        self.idleInTransactionTimeout = idleInTransactionTimeout
        self.planCacheMode = planCacheMode
        self.planLifetime = planLifetime
        self.settings = settings
        self.onConnect = onConnect
    }

    /// Applies all settings in one round trip; not as startup options, which poolers refuse.
    var settingsStatement: SQL {
        var all = [
            "statement_timeout": Self.milliseconds(statementTimeout),
            "lock_timeout": Self.milliseconds(lockTimeout),
            "idle_in_transaction_session_timeout": Self.milliseconds(idleInTransactionTimeout),
            // Postgres's log of a statement that failed must not quote what was bound to it.
            "log_parameter_max_length_on_error": "0",
        ]
        all["plan_cache_mode"] = planCacheMode?.rawValue
        all.merge(settings) { $1 }
        let (names, values) = (Array(all.keys), all.values.map { $0 })
        return "SELECT set_config(name, value, false) FROM unnest(\(names), \(values)) AS setting (name, value)"
    }

    private static func milliseconds(_ duration: Duration) -> String {
        guard duration > .zero else { return "0" }
        let (seconds, attoseconds) = duration.components
        // The settings are 32-bit numbers, and 0 would mean off.
        return String(max(1, min(seconds, 2_000_000) * 1000 + attoseconds / 1_000_000_000_000_000))
    }
}

extension PostgresConfiguration: CustomStringConvertible, CustomReflectable {
    /// The application's name and the number of connections; nothing secret.
    package var description: String {
        "PostgresConfiguration(\(applicationName), at most \(maximumConnections) connections)"
    }

    /// The same two values as ``description``, so that dumps do not show the connection string either.
    package var customMirror: Mirror {
        Mirror(self, children: ["applicationName": applicationName, "maximumConnections": maximumConnections])
    }
}
