/// Caches the last result of an expensive query. Concurrent callers share one query.
actor TimedCache<Value: Sendable> {
    private let lifetime: Duration
    private let clock: ServiceClock
    private let ask: @Sendable () async throws -> Value
    private var last: (result: Result<Value, any Error>, time: Duration)?
    private var asking: Task<Value, any Error>?

    /// - Parameter lifetime: Applies to failures, too.
    init(lifetime: Duration, clock: ServiceClock, _ ask: @escaping @Sendable () async throws -> Value) {
        self.lifetime = lifetime
        self.clock = clock
        self.ask = ask
    }

    func value() async throws -> Value {
        if let last, clock.uptime() - last.time < lifetime { return try last.result.get() }
        if let asking { return try await asking.value }
        let task = Task { [ask] in try await ask() }
        asking = task
        let result = await task.result
        last = (result, clock.uptime())
        asking = nil
        return try result.get()
    }
}
