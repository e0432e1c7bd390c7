import PostgresDriver

/// The time that a request may wait for Postgres.
///
/// A request's key and app are looked up before its work, and a batch waits for those before it: one time holds for all of that
/// together.
enum TimeLeft {
    /// The time that its look-ups have left to a request; nil is all of it.
    @TaskLocal static var forWork: Duration?

    /// Some is left to everyone who has waited long for their turn: work that takes milliseconds then has a chance.
    static let least = Duration.milliseconds(250)
}

extension Registry {
    /// Does the work of a request, whose look-ups took some of its time.
    ///
    /// - Parameters:
    ///   - lookups: how long they took.
    ///   - body: each unit of work in it has what is left.
    package func spending<Value>(_ lookups: Duration, _ body: () async throws -> Value) async rethrows -> Value {
        let left = max(TimeLeft.least, units.pool.requestTimeout - lookups)
        return try await TimeLeft.$forWork.withValue(left) { try await body() }
    }
}
