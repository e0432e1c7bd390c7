import Foundation
import Logging

actor PostgresConnection {
    struct Loan<Value: Sendable>: Sendable {
        let result: Result<Value, any Error>
        let isReusable: Bool
        /// The server answered neither this connection nor any other connection during the call.
        let isServerSilent: Bool
        /// Nil if libpq chooses the host itself.
        let silentServer: ConnectionOptions.Host?
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
    /// - Returns: the connected host, and an earlier one that did not respond in its share of the time.
    /// - Throws: ``PostgresError/Code/connectionFailed``, ``PostgresError/Code/misuse``, or the error of `onConnect`.
    func open(
        _ configuration: PostgresConfiguration,
        tryingLast host: ConnectionOptions.Host?,
        for time: Duration,
        logger: Logger
    ) throws -> (server: ConnectionOptions.Host?, skipped: ConnectionOptions.Host?) {
        do {
            let deadline = Deadline.after(configuration.connectTimeout)
            let options = try ConnectionOptions(
                connectionString: configuration.connectionString,
                applicationName: configuration.applicationName
            )
            let (link, skipped) = try LibpqConnection.connect(
                options,
                tryingLast: host,
                for: time,
                until: deadline,
                logger: logger
            )
            link.generation = generation
            link.leastSilence = min(.seconds(1), configuration.requestTimeout / 2)
            let session = PostgresSession(link: link, deadline: deadline)
            _ = try session.execute(configuration.settingsStatement)
            try configuration.onConnect?(session)
            self.link = link
            planLifetime = configuration.planLifetime
            return (link.server, skipped)
        } catch let error as PostgresError { throw error.asConnectFailure }
    }

    /// Nil if the connection was dead before use, so that the closure did not run.
    func lend<Value: Sendable>(
        isIdempotent: Bool,
        until deadline: Deadline,
        to body: @Sendable (borrowing PostgresSession) throws -> Value
    ) -> Loan<Value>? {
        guard let link, link.isAlive() else { return nil }
        link.beginWork()
        let session = PostgresSession(link: link, deadline: deadline, isIdempotent: isIdempotent)
        let result = Result {
            try renewPlans(link, until: deadline)
            return try body(session)
        }
        let isReusable = link.isReusable
        let isSilent = !isReusable && link.isServerSilent
        return Loan(
            result: result,
            isReusable: isReusable,
            isServerSilent: isSilent,
            silentServer: isSilent ? link.server : nil
        )
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

/// Runs a connection actor's jobs on a dedicated thread, so that libpq may block.
final class ConnectionThread: SerialExecutor {
    private let queue = JobQueue()

    init() {
        let thread = Thread { [queue] in queue.run() }
        thread.name = "postgres"
        thread.start()
    }

    deinit { queue.stop() }

    func enqueue(_ job: consuming ExecutorJob) { queue.append(UnownedJob(job), on: self) }
}

/// The waiting jobs. The thread holds only the queue, so the executor can be released and the thread ends.
private final class JobQueue: @unchecked Sendable {
    // Guarded by `condition`.
    private var jobs: [(job: UnownedJob, executor: ConnectionThread)] = []
    private var isStopped = false
    private let condition = NSCondition()

    func append(_ job: UnownedJob, on executor: ConnectionThread) {
        condition.withLock { jobs.append((job, executor)) }
        // After the unlock, because the thread would otherwise wake up and wait for the lock.
        condition.signal()
    }

    func stop() {
        condition.withLock { isStopped = true }
        condition.signal()
    }

    func run() {
        // Each entry retains its executor until the job is done; the last release may happen here.
        while let (job, executor) = next() { job.runSynchronously(on: executor.asUnownedSerialExecutor()) }
    }

    private func next() -> (job: UnownedJob, executor: ConnectionThread)? {
        condition.withLock {
            while jobs.isEmpty && !isStopped { condition.wait() }
            return jobs.isEmpty ? nil : jobs.removeFirst()
        }
    }
}
