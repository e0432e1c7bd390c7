import Logging

/// A connection and its thread.
actor PostgresConnection {
    /// What a caller's closure came to, and whether the connection may serve another one.
    struct Loan<Value: Sendable>: Sendable {
        let result: Result<Value, any Error>
        let isReusable: Bool
        /// The connection had died before anything was sent; the closure did not run.
        let wasDead: Bool
    }

    private nonisolated let thread = ConnectionThread()
    private var link: Link?

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

    /// Lends the connection to a closure until it returns.
    func lend<Value: Sendable>(
        until deadline: Deadline,
        to body: @Sendable (borrowing PostgresSession) throws -> Value
    ) -> Loan<Value> {
        guard let link, link.isAlive() else {
            let error = PostgresError(.connectionLost, outcome: .nothingTookEffect)
            return Loan(result: .failure(error), isReusable: false, wasDead: true)
        }
        link.mayHaveCommitted = false
        let session = PostgresSession(link: link, deadline: deadline)
        let result = Result { try body(session) }
        return Loan(result: result, isReusable: link.isReusable, wasDead: false)
    }

    /// Closes the socket.
    func close() {
        link?.close()
        link = nil
    }
}
