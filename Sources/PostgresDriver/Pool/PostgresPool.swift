import Logging
import Synchronization

/// Connections to one Postgres, opened on demand and lent to one caller at a time, in order of arrival. Some may be
/// reserved for hot work.
///
/// After a failed connect, callers fail at once while no other connection is open. The first caller after 50 ms to 1 s
/// tries again.
package final class PostgresPool: Sendable {
    typealias Lease = PoolLease<PostgresConnection>
    typealias State = PoolState<PostgresConnection, CheckedContinuation<Lease, any Error>>

    package struct Statistics: Sendable, Hashable {
        package var open: Int { idle + busy }
        package let idle: Int
        package let busy: Int
        package let waiting: Int
        package let connects: Int
        package let failures: Int
        package let retries: Int
    }

    private struct Unresponsive {
        /// Tried last until it answers again.
        var host: ConnectionOptions.Host?
        var connectTime = Duration.zero

        /// A frozen server accepts connections but stays silent, while another server may become the primary. The wait
        /// is therefore short.
        var time: Duration { max(.milliseconds(500), connectTime * 4) }
    }

    private let configuration: PostgresConfiguration
    private let logger: Logger
    private let state: Mutex<State>
    private let closing = Mutex<[CheckedContinuation<Void, Never>]>([])
    private let unresponsive = Mutex(Unresponsive())
    private let nextTicket = Atomic<UInt64>(0)

    package init(configuration: PostgresConfiguration, logger: Logger = Logger(label: "postgres")) {
        self.configuration = configuration
        self.logger = logger
        state = Mutex(
            State(
                maximumConnections: max(1, configuration.maximumConnections),
                reserve: configuration.reservedConnections,
                maximumWaiting: configuration.maximumWaiting
            )
        )
    }

    package func copy(maximumConnections: Int) -> PostgresPool {
        var configuration = configuration
        (configuration.maximumConnections, configuration.reservedConnections) = (maximumConnections, 0)
        return PostgresPool(configuration: configuration, logger: logger)
    }

    package var requestTimeout: Duration { configuration.requestTimeout }
    package var maximumConnections: Int { max(1, configuration.maximumConnections) }

    package var statistics: Statistics {
        state.withLock {
            Statistics(
                idle: $0.idleCount,
                busy: $0.busy,
                waiting: $0.waitingCount,
                connects: $0.connects,
                failures: $0.failures,
                retries: $0.retries
            )
        }
    }

    /// Lends a connection to a closure, which runs on the connection's thread.
    ///
    /// A retry starts the closure again, after a rollback of its earlier work, so avoid other side effects. Except with
    /// `.idempotentRead`, a closure is retried only while it has committed nothing.
    /// - Parameters:
    ///   - priority: whether the closure may use a reserved connection.
    ///   - timeout: for queueing, statements and retries together; defaults to the configuration's `requestTimeout`.
    /// - Throws: the closure's error or ``PostgresError``; `CancellationError` if the task is cancelled while it waits
    ///   for a connection or a retry. Cancellation does not interrupt a running statement.
    package func withSession<Value: Sendable>(
        _ retry: RetryPolicy = .ifSafe,
        priority: PoolPriority = .usual,
        timeout: Duration? = nil,
        _ body: @escaping @Sendable (borrowing PostgresSession) throws -> Value
    ) async throws -> Value {
        let deadline = Deadline.after(timeout ?? configuration.requestTimeout)
        var schedule = RetrySchedule(policy: retry, deadline: deadline)
        var former: PostgresError?
        while true {
            let start = ContinuousClock.now
            do {
                return try await attempt(priority, isIdempotent: retry == .idempotentRead, until: deadline, body)
            } catch let error as PostgresError {
                let duration = start.duration(to: .now)
                guard let pause = schedule.pause(after: error, duration: duration, jitter: .random(in: 0.5...1)) else {
                    // If the time ran out before the retry, the earlier error names the cause.
                    let isLate = error.code == .deadlineExceeded && error.outcome == .nothingTookEffect
                    throw isLate ? former ?? error : error
                }
                former = error
                state.withLock { $0.retries += 1 }
                try await Task.sleep(for: pause, clock: .continuous)
            }
        }
    }

    package func shutdown() async {
        perform(state.withLock { $0.shutDown() })
        await withCheckedContinuation { continuation in
            closing.withLock { $0.append(continuation) }
            resumeIfClosed()
        }
    }

    private func attempt<Value: Sendable>(
        _ priority: PoolPriority,
        isIdempotent: Bool,
        until deadline: Deadline,
        _ body: @escaping @Sendable (borrowing PostgresSession) throws -> Value
    ) async throws -> Value {
        while true {
            let lease = try await lease(priority, until: deadline)
            let loan = await lease.connection.lend(isIdempotent: isIdempotent, until: deadline, to: body)
            if let loan { checkServer(lease.generation, loan) }
            perform(state.withLock { $0.release(lease, isReusable: loan?.isReusable ?? false, now: .now) })
            if let loan { return try loan.result.get() }
        }
    }

    /// Gives up all connections to a demoted or silent server, because each would use up a caller's time.
    private func checkServer<Value>(_ generation: PoolGeneration, _ loan: PostgresConnection.Loan<Value>) {
        guard case .failure(let error as PostgresError) = loan.result else { return }
        if error.sqlState == SQLState.readOnlyTransaction {
            perform(state.withLock { $0.startGeneration(after: generation) })
        } else if error.code == .deadlineExceeded, loan.isServerSilent, !generation.isOver {
            let host = loan.silentServer
            unresponsive.withLock { $0.host = host }
            logger.warning(
                "Postgres does not respond; the pool closes all connections",
                metadata: ["host": "\(host?.host ?? "")", "port": "\(host?.port ?? "")"]
            )
            perform(state.withLock { $0.startGeneration(after: generation) })
        }
    }

    private func lease(_ priority: PoolPriority, until deadline: Deadline) async throws -> Lease {
        try Task.checkCancellation()
        if let lease = state.withLock({ $0.takeIdle(priority) }) { return lease }
        let ticket = nextTicket.add(1, ordering: .relaxed).newValue
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let effects = state.withLock {
                    $0.enqueue(continuation, id: ticket, priority, until: deadline.endOfWaiting, now: .now)
                }
                perform(effects)
                // A cancellation before `enqueue` had no effect.
                if Task.isCancelled { giveUp(ticket, because: CancellationError()) }
            }
        } onCancel: {
            giveUp(ticket, because: CancellationError())
        }
    }

    private func giveUp(_ ticket: UInt64, because error: any Error) {
        perform(state.withLock { $0.remove(ticket, because: error) })
    }

    private func perform(_ effects: [State.Effect]) {
        for effect in effects {
            switch effect {
            case .lend(let lease, let continuation): continuation.resume(returning: lease)
            case .fail(let continuation, let error): continuation.resume(throwing: error)
            case .connect(let generation): Task { await connect(generation) }
            case .close(let connection): Task { await close(connection) }
            case .wake(let time):
                Task { [weak self] in
                    try await Task.sleep(until: time, clock: .continuous)
                    guard let self else { return }
                    perform(state.withLock { $0.refuseOverdue(planned: time, now: .now) })
                }
            }
        }
        resumeIfClosed()
    }

    private func connect(_ generation: PoolGeneration) async {
        let connection = PostgresConnection(generation)
        do {
            let (last, time) = unresponsive.withLock { ($0.host, $0.time) }
            let start = ContinuousClock.now
            let opened = try await connection.open(configuration, tryingLast: last, for: time, logger: logger)
            unresponsive.withLock { unresponsive in
                if opened.skipped == nil { unresponsive.connectTime = .now - start }
                let isBack = unresponsive.host == opened.server
                unresponsive.host = opened.skipped ?? (isBack ? nil : unresponsive.host)
            }
            let lease = Lease(connection: connection, generation: generation)
            perform(state.withLock { $0.connected(lease, now: .now) })
        } catch {
            logger.warning("no connection to Postgres", metadata: ["error": "\(error)"])
            perform(state.withLock { $0.connectFailed(error, now: .now, jitter: .random(in: 0.5...1)) })
        }
    }

    private func close(_ connection: PostgresConnection) async {
        await connection.close()
        state.withLock { $0.closed() }
        resumeIfClosed()
    }

    private func resumeIfClosed() {
        guard state.withLock({ $0.isClosed && $0.isEmpty }) else { return }
        let continuations = closing.withLock { waiting in
            defer { waiting.removeAll() }
            return waiting
        }
        for continuation in continuations { continuation.resume() }
    }
}
