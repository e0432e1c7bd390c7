import RegistryStore

/// The last word of Postgres on its readiness, shared by all who ask at about the same time: however many ask, they are one
/// query.
actor ReadinessCache {
    /// For how long an answer counts, a refusal too.
    static let lifetime = Duration.milliseconds(100)

    private let clock: ServiceClock
    private let ask: @Sendable () async throws -> Readiness
    private var last: (answer: Result<Readiness, any Error>, time: Duration)?
    private var asking: Task<Readiness, any Error>?

    init(clock: ServiceClock, _ ask: @escaping @Sendable () async throws -> Readiness) {
        self.clock = clock
        self.ask = ask
    }

    /// Whether writes would work now.
    ///
    /// - Throws: `unavailable` with a sentence.
    func readiness() async throws -> Readiness {
        if let last, clock.uptime() - last.time < Self.lifetime { return try last.answer.get() }
        if let asking { return try await asking.value }
        let task = Task { [ask] in try await ask() }
        asking = task
        let answer = await task.result
        last = (answer, clock.uptime())
        asking = nil
        return try answer.get()
    }
}
