import Logging

actor PostgresConnection {
    struct Loan<Value: Sendable>: Sendable {
        let result: Result<Value, any Error>
        let isReusable: Bool
        /// The connection was dead before use; the closure did not run.
        let wasDead: Bool
        /// Set if the server answered neither this connection nor any other connection during the call.
        var silentServer: SilentServer?

        static var dead: Self {
            let error = PostgresError(.connectionLost, outcome: .nothingTookEffect)
            return Self(result: .failure(error), isReusable: false, wasDead: true)
        }
    }

    /// A server that was silent on all its connections during a wait.
    struct SilentServer: Sendable {
        /// Nil if libpq chooses the host itself.
        let host: ConnectionOptions.Host?
    }

    /// `skipped` did not respond in its share of the time.
    struct Opened: Sendable {
        let server: ConnectionOptions.Host?
        let skipped: ConnectionOptions.Host?
    }

    private nonisolated let thread = ConnectionThread()
    private let generation: PoolGeneration
    private var link: LibpqConnection?
    private var planLifetime: Duration?
    /// All plans of this connection were made at or after this time.
    private var plannedAt = ContinuousClock.now

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ generation: PoolGeneration) { self.generation = generation }

    /// - Parameters:
    ///   - host: the host to try last.
    ///   - time: the time limit for that host.
    /// - Throws: ``PostgresError/Code/connectionFailed``, ``PostgresError/Code/misuse``, or the error of `onConnect`.
    func open(
        _ configuration: PostgresConfiguration,
        tryingLast host: ConnectionOptions.Host? = nil,
        for time: Duration = .zero,
        logger: Logger
    ) throws -> Opened {
        do {
            return try makeReady(configuration, tryingLast: host, for: time, logger: logger)
        } catch let error as PostgresError {
            throw error.asConnectFailure
        }
    }

    private func makeReady(
        _ configuration: PostgresConfiguration,
        tryingLast host: ConnectionOptions.Host?,
        for time: Duration,
        logger: Logger
    ) throws -> Opened {
        let deadline = Deadline.after(configuration.connectTimeout)
        let options = try ConnectionOptions(
            connectionString: configuration.connectionString,
            applicationName: configuration.applicationName
        ).trying(last: host, for: time)
        let link = try LibpqConnection.connect(options, until: deadline, logger: logger)
        link.generation = generation
        link.leastSilence = min(.seconds(1), configuration.requestTimeout / 2)
        let session = PostgresSession(link: link, deadline: deadline)
        _ = try session.execute(configuration.settingsStatement)
        try configuration.onConnect?(session)
        self.link = link
        planLifetime = configuration.planLifetime
        return Opened(server: link.server, skipped: link.skipped)
    }

    func lend<Value: Sendable>(
        isIdempotent: Bool,
        until deadline: Deadline,
        to body: @Sendable (borrowing PostgresSession) throws -> Value
    ) -> Loan<Value> {
        guard let link, link.isAlive() else { return .dead }
        link.beginWork()
        let session = PostgresSession(link: link, deadline: deadline, isIdempotent: isIdempotent)
        let result = Result {
            try renewPlans(link, until: deadline)
            return try body(session)
        }
        guard !link.isReusable else { return Loan(result: result, isReusable: true, wasDead: false) }
        let silent = link.isServerSilent ? SilentServer(host: link.server) : nil
        return Loan(result: result, isReusable: false, wasDead: false, silentServer: silent)
    }

    private func renewPlans(_ link: LibpqConnection, until deadline: Deadline) throws {
        let now = ContinuousClock.now
        guard let planLifetime, now - plannedAt >= planLifetime else { return }
        plannedAt = now
        _ = try link.run(["DISCARD PLANS"], RoundTrip(deadline: deadline, canCommit: false))
    }

    func close() {
        link?.close()
        link = nil
    }
}
