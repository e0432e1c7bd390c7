import Logging

/// A connection and its thread.
actor PostgresConnection {
    /// What a caller's closure came to, and whether the connection may serve another one.
    struct Loan<Value: Sendable>: Sendable {
        let result: Result<Value, any Error>
        let isReusable: Bool
        /// The connection had died before anything was sent; the closure did not run.
        let wasDead: Bool

        static var dead: Self {
            let error = PostgresError(.connectionLost, outcome: .nothingTookEffect)
            return Self(result: .failure(error), isReusable: false, wasDead: true)
        }
    }

    private nonisolated let thread = ConnectionThread()
    /// Whoever leases the connection has it alone, on whatever thread: the pool's lock and the actor's queue hand it on.
    private nonisolated(unsafe) var link: Link?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Connects, applies the settings and runs the configuration's own check.
    ///
    /// - Throws: ``PostgresError/Code/connectionFailed``, ``PostgresError/Code/misuse``, or what the check throws.
    func open(_ configuration: PostgresConfiguration, logger: Logger) throws {
        do {
            try makeReady(configuration, logger: logger)
        } catch let error as PostgresError {
            throw error.asConnectFailure
        }
    }

    private func makeReady(_ configuration: PostgresConfiguration, logger: Logger) throws {
        let deadline = Deadline.after(configuration.connectTimeout)
        let options = try ConnectionOptions(
            connectionString: configuration.connectionString,
            applicationName: configuration.applicationName
        )
        let link = try Link.connect(options, until: deadline, logger: logger)
        let session = PostgresSession(link: link, deadline: deadline)
        _ = try session.execute(configuration.settingsStatement)
        try configuration.onConnect?(session)
        self.link = link
    }

    /// Runs a closure on the caller's thread, as long as it is answered in time.
    ///
    /// - Returns: nil when it is not; ``lend(until:to:)`` must then be called with the same closure.
    nonisolated func begin<Value: Sendable>(
        until deadline: Deadline,
        patience: Deadline,
        to body: @Sendable (borrowing PostgresSession) throws -> Value
    ) -> Loan<Value>? {
        guard let link, link.isAlive() else { return .dead }
        link.mayHaveCommitted = false
        link.start = CallersStart(patience: patience)
        let result = Result { try body(PostgresSession(link: link, deadline: deadline)) }
        guard link.start?.isOpen == false else {
            link.start?.patience = nil
            return nil
        }
        link.start = nil
        return Loan(result: result, isReusable: link.isReusable, wasDead: false)
    }

    /// Lends the connection to a closure until it returns, on the connection's own thread.
    func lend<Value: Sendable>(
        until deadline: Deadline,
        to body: @Sendable (borrowing PostgresSession) throws -> Value
    ) -> Loan<Value> {
        guard let link else { return .dead }
        if link.start == nil {
            guard link.isAlive() else { return .dead }
            link.mayHaveCommitted = false
        }
        let session = PostgresSession(link: link, deadline: deadline)
        let result = Result { try body(session) }
        link.start = nil
        return Loan(result: result, isReusable: link.isReusable, wasDead: false)
    }

    /// Closes the socket.
    func close() {
        link?.close()
        link = nil
    }
}
