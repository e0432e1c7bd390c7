import PostgresDriver

package struct ConnectionCounts: Sendable, Hashable {
    package let idle: Int
    package let busy: Int
    package let maximum: Int
    package let waiting: Int
    package let opened: Int
    package let failures: Int
    /// Units of work retried after an error without effect.
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
