import PostgresDriver

/// The time that a request may wait for Postgres. One limit covers the lookups of its key and app, and its work.
enum TimeLeft {
    /// Nil is the whole limit.
    @TaskLocal static var forWork: Duration?

    /// A late request still gets this, which is enough for work of a few milliseconds.
    static let least = Duration.milliseconds(250)
}

extension Registry {
    package func spending<Value>(_ lookups: Duration, _ body: () async throws -> Value) async rethrows -> Value {
        let left = max(TimeLeft.least, units.pool.requestTimeout - lookups)
        return try await TimeLeft.$forWork.withValue(left) { try await body() }
    }
}
