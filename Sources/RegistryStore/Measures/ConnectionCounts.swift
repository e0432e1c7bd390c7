import PostgresDriver

/// The connections to Postgres at one moment, and what became of them since the service began.
public struct ConnectionCounts: Sendable, Hashable {
    /// Open connections that nobody uses.
    public let idle: Int
    /// Open connections with work on them.
    public let busy: Int
    /// How many may be open.
    public let maximum: Int
    /// Pieces of work that wait for a connection.
    public let waiting: Int
    /// Connections opened so far.
    public let opened: Int
    /// Attempts to connect that failed so far.
    public let failures: Int
    /// Pieces of work that were done again so far, after an error that left nothing behind.
    public let retries: Int

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
