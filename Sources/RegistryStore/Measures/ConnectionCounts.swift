import PostgresDriver

/// The connections to Postgres at one moment, and what became of them since the service began.
package struct ConnectionCounts: Sendable, Hashable {
    /// Open connections that nobody uses.
    package let idle: Int
    /// Open connections with work on them.
    package let busy: Int
    /// How many may be open.
    package let maximum: Int
    /// Pieces of work that wait for a connection.
    package let waiting: Int
    /// Connections opened so far.
    package let opened: Int
    /// Attempts to connect that failed so far.
    package let failures: Int
    /// Pieces of work that were done again so far, after an error that left nothing behind.
    package let retries: Int

    init(_ pool: PostgresPool) {
        let statistics = pool.statistics
        idle = statistics.idle
        busy = statistics.busy
        maximum = pool.maximumConnections
        waiting = statistics.waiting
        opened = statistics.connects
        failures = statistics.failures
        retries = statistics.retries
    }
}
