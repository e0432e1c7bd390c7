/// The plans that prepared statements are run by, as Postgres's `plan_cache_mode` has it.
package enum PlanCacheMode: String, Sendable, CaseIterable {
    /// No statement is planned for its parameters.
    case forceGenericPlan = "force_generic_plan"
    /// Postgres compares the costs of both, and may plan at each execution.
    case auto
}

/// The server's address and the pool's behaviour. Its description leaves out the connection string.
package struct PostgresConfiguration: Sendable {
    /// A `postgresql://` URI or a `keyword=value` string, passed to libpq unchanged: with several hosts,
    /// `target_session_attrs`, `sslmode`, a password and all else that libpq accepts.
    package var connectionString: String
    /// Shown in `pg_stat_activity`, unless the connection string overrides it.
    package var applicationName: String
    package var maximumConnections: Int
    /// Connections kept for hot work; all other work has the rest, and at least one.
    package var reservedConnections: Int
    /// The most waiting callers of each priority; more fail at once.
    package var maximumWaiting: Int
    /// The default limit of one `withSession`, with queueing, statements and retries.
    package var requestTimeout: Duration
    /// The limit of one attempt to connect, for all hosts together, with the settings and `onConnect`.
    package var connectTimeout: Duration
    /// `statement_timeout`; zero and below switch it off.
    package var statementTimeout: Duration
    /// `lock_timeout`; zero and below switch it off.
    package var lockTimeout: Duration
    /// `idle_in_transaction_session_timeout`; zero and below switch it off. It bounds the time for which a frozen instance holds
    /// row locks.
    package var idleInTransactionTimeout: Duration
    /// Nil keeps the server's `plan_cache_mode`.
    package var planCacheMode: PlanCacheMode?
    /// The age at which the plans of prepared statements are discarded and made again; nil keeps them. Postgres itself
    /// does that only after a table was analyzed: a plan from a time with an empty table may read all of it for a
    /// minute.
    package var planLifetime: Duration?
    /// Further settings by name, applied to each new connection; they override those above.
    package var settings: [String: String]
    /// Runs once on each new connection; an error closes the connection, and is thrown to callers.
    package var onConnect: (@Sendable (borrowing PostgresSession) throws -> Void)?

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
        idleInTransactionTimeout: Duration = .seconds(2),
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

    /// Applies all settings in one round trip; not as startup options, which poolers reject.
    var settingsStatement: SQL {
        var all = [
            "statement_timeout": Self.milliseconds(statementTimeout),
            "lock_timeout": Self.milliseconds(lockTimeout),
            "idle_in_transaction_session_timeout": Self.milliseconds(idleInTransactionTimeout),
            // Postgres's log of a failed statement must not contain its parameters.
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
    /// Contains nothing secret.
    package var description: String {
        "PostgresConfiguration(\(applicationName), at most \(maximumConnections) connections)"
    }

    /// Dumps do not show the connection string either.
    package var customMirror: Mirror {
        Mirror(self, children: ["applicationName": applicationName, "maximumConnections": maximumConnections])
    }
}
