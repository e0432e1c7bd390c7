/// The description omits the connection string.
package struct PostgresConfiguration: Sendable, CustomStringConvertible, CustomReflectable {
    /// A `postgresql://` URI or `keyword=value` string, read by libpq. Several hosts are tried one after another.
    package var connectionString: String
    /// Shown in `pg_stat_activity`, unless the connection string overrides it.
    package var applicationName = "PostgresDriver"
    package var maximumConnections = 16
    /// Connections kept for hot work. At least one connection is left for other work.
    package var reservedConnections = 0
    /// Maximum waiting callers per priority; further callers fail at once.
    package var maximumWaiting = 1024
    /// The default limit of a `withSession` call, including queueing and retries.
    package var requestTimeout: Duration
    /// The limit of one connection attempt, including all hosts, the settings and `onConnect`.
    package var connectTimeout = Duration.seconds(3)
    /// `statement_timeout`; zero or less disables it.
    package var statementTimeout: Duration
    /// `lock_timeout`; zero or less disables it.
    package var lockTimeout = Duration.seconds(3)
    /// `idle_in_transaction_session_timeout`; zero or less disables it. Bounds how long a frozen instance holds row
    /// locks.
    package var idleInTransactionTimeout = Duration.seconds(2)
    /// The age at which plans of prepared statements are discarded; nil keeps them. Postgres renews a plan only after
    /// an ANALYZE, so a plan made while a table was empty may read the whole table for a minute.
    package var planLifetime: Duration?
    /// Further settings by name. They override the settings above.
    package var settings: [String: String] = [:]
    /// Runs once per new connection. If it throws, the connection is closed and callers get the error.
    package var onConnect: (@Sendable (borrowing PostgresSession) throws -> Void)?

    package init(
        connectionString: String,
        requestTimeout: Duration = .seconds(5),
        statementTimeout: Duration = .seconds(4)
    ) {
        self.connectionString = connectionString
        self.requestTimeout = requestTimeout
        self.statementTimeout = statementTimeout
    }

    /// Applies all settings in one round trip. Not startup options, because poolers reject them.
    var settingsStatement: SQL {
        var all = [
            "statement_timeout": Self.milliseconds(statementTimeout),
            "lock_timeout": Self.milliseconds(lockTimeout),
            "idle_in_transaction_session_timeout": Self.milliseconds(idleInTransactionTimeout),
            // Postgres's log of a failed statement must not contain its parameters.
            "log_parameter_max_length_on_error": "0",
        ]
        all.merge(settings) { $1 }
        let (names, values) = (Array(all.keys), all.values.map { $0 })
        return "SELECT set_config(name, value, false) FROM unnest(\(names), \(values)) AS setting (name, value)"
    }

    private static func milliseconds(_ duration: Duration) -> String {
        guard duration > .zero else { return "0" }
        let (seconds, attoseconds) = duration.components
        // The settings are 32-bit numbers, and 0 would disable them.
        return String(max(1, min(seconds, 2_000_000) * 1000 + attoseconds / 1_000_000_000_000_000))
    }

    package var description: String {
        "PostgresConfiguration(\(applicationName), at most \(maximumConnections) connections)"
    }

    package var customMirror: Mirror {
        Mirror(self, children: ["applicationName": applicationName, "maximumConnections": maximumConnections])
    }
}
