import Foundation
import Logging
import PostgresDriver
import RegistryCore

/// Runs units of work on pool connections, and converts their errors to problems.
struct UnitsOfWork: Sendable {
    let pool: PostgresPool
    let logger: Logger
    let metrics = StoreMetrics()
    private let repeatedErrors = RepeatedErrors()

    /// After this time a worker releases its connection; its retry limit then starts again too.
    private static let leaseTime = Duration.seconds(1)

    /// Runs a worker's batches in sequence on one connection's thread, without thread changes. Workers are few and batches
    /// short, so they may use reserved connections.
    ///
    /// A failure concerns the current batch; earlier ones are answered.
    func serve<Request, Output>(
        _ worker: Batcher<Request, Output>.Worker,
        _ work: StoreMetrics.Work,
        _ retry: RetryPolicy,
        _ body: @escaping @Sendable (borrowing PostgresSession, [Request]) throws -> [Result<Output, Problem>]
    ) async throws {
        try await run(work, retry, .hot, within: worker.timeLeft) { session, watch in
            func runBatch(_ session: borrowing PostgresSession) throws {
                let (results, time) = try watch.timed { try body(session, worker.requests) }
                worker.complete(results, after: time)
            }
            // If the closure is retried, the worker still holds the failed batch.
            try runBatch(session)
            let end = ContinuousClock.now + min(Self.leaseTime, pool.requestTimeout / 2)
            while ContinuousClock.now < end, session.isRenewable, worker.takeNext() {
                try runBatch(session.renewed(timeout: worker.timeLeft))
            }
        }
    }

    func run<Value: Sendable>(
        _ work: StoreMetrics.Work,
        _ retry: RetryPolicy,
        _ priority: PoolPriority = .usual,
        within timeout: Duration? = TimeLeft.forWork,
        _ body: @escaping @Sendable (borrowing PostgresSession, Stopwatch) throws -> Value
    ) async throws -> Value {
        let watch = Stopwatch(metrics, work)
        do {
            return try await pool.withSession(retry, priority: priority, timeout: timeout) { session in
                do {
                    return try body(session, watch)
                } catch let error as PostgresError where session.isDistributed && error.sqlState == "XX000" {
                    throw NodeFailure(error: error)
                }
            }
        } catch {
            watch.giveUp()
            throw translated(error)
        }
    }

    private func translated(_ error: any Error) -> any Error {
        switch error {
        case let error as PostgresError:
            let problem = Problem(error)
            let level: Logger.Level = problem.code == .internalError ? .error : .warning
            log(level, "Postgres: \(error)", of: "\(error.code) \(error.sqlState ?? "")")
            return problem
        case let failure as NodeFailure:
            log(.warning, "Citus: \(failure.error)", of: "node")
            return Problem.unavailable("Postgres could not complete the request. Send the same request again.")
        case let error as UnsafeDurability:
            log(.error, "\(error)", of: "unsafe")
            return Problem(.unavailable, "Postgres could lose acknowledged writes, so the service refuses writes.")
        case let error as DistributionError:
            log(.error, "\(error)", of: "distribution")
            return Problem(.unavailable, "The service cannot work with its Postgres. Run: pushreg doctor")
        case let error as UnreadableRow:
            log(.error, "\(error)", of: "unreadable")
            return Problem(.internalError, "The registry has a row that this version cannot read.")
        case let error as UnforeseenRefusal:
            // Callers do not see the cause.
            log(.error, "\(error)", of: "unforeseen")
            return Problem.unforeseen
        default: return error
        }
    }

    private func log(_ level: Logger.Level, _ message: Logger.Message, of kind: String) {
        guard let unlogged = repeatedErrors.admit(kind) else { return }
        logger.log(level: level, message, metadata: unlogged == 0 ? nil : ["likeItSinceTheLast": "\(unlogged)"])
    }
}

/// A Citus error reported as internal (`XX000`): a worker went away or a shard was moved. Whether a write took effect
/// is unknown.
private struct NodeFailure: Error {
    let error: PostgresError
}
