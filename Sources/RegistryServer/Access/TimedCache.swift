/// The last answer to a question that is costly to ask, shared by all who ask at about the same time: however many they are,
/// it is asked once.
actor TimedCache<Value: Sendable> {
    private let lifetime: Duration
    private let clock: ServiceClock
    private let ask: @Sendable () async throws -> Value
    private var last: (answer: Result<Value, any Error>, time: Duration)?
    private var asking: Task<Value, any Error>?

    /// - Parameters:
    ///   - lifetime: for how long an answer counts, a failure too.
    ///   - ask: finds the answer.
    init(lifetime: Duration, clock: ServiceClock, _ ask: @escaping @Sendable () async throws -> Value) {
        self.lifetime = lifetime
        self.clock = clock
        self.ask = ask
    }

    /// The answer, which may be as old as the lifetime.
    ///
    /// - Throws: what the question failed with.
    func value() async throws -> Value {
        if let last, clock.uptime() - last.time < lifetime { return try last.answer.get() }
        if let asking { return try await asking.value }
        let task = Task { [ask] in try await ask() }
        asking = task
        let answer = await task.result
        last = (answer, clock.uptime())
        asking = nil
        return try answer.get()
    }
}
