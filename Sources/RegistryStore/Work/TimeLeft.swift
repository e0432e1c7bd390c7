import PostgresDriver

/// The time that a request may wait for Postgres.
///
/// A request's key and app are looked up before its work, and a batch waits for those: one limit holds for all
/// together.
enum TimeLeft {
    /// Nil is the whole limit.
    @TaskLocal static var forWork: Duration?

    /// A request that has waited long still gets this: work of a few milliseconds then has a chance.
    static let least = Duration.milliseconds(250)
}

extension Registry {
    /// Runs the work of a request, whose lookups took some of its time.
    package func spending<Value>(_ lookups: Duration, _ body: () async throws -> Value) async rethrows -> Value {
        let left = max(TimeLeft.least, units.pool.requestTimeout - lookups)
        return try await TimeLeft.$forWork.withValue(left) { try await body() }
    }
}
