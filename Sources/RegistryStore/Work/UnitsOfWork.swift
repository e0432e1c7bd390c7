import Logging
import PostgresDriver
import RegistryCore
import Synchronization

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
                    // A worker went away or a shard was moved. Whether a write took effect is unknown.
                    log(.warning, "Citus: \(error)", of: "node")
                    throw Problem.unavailable("Postgres could not complete the request. Send the same request again.")
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
        case let error as UnsafeDurability:
            log(.error, "\(error)", of: "unsafe")
            return Problem(.unavailable, "Postgres could lose acknowledged writes, so the service refuses writes.")
        case let error as DistributionError:
            log(.error, "\(error)", of: "distribution")
            return Problem(.unavailable, "The service cannot work with its Postgres. Run: pushreg doctor")
        case let error as UnreadableRow:
            log(.error, "\(error)", of: "unreadable")
            return Problem(.internalError, "The registry has a row that this version cannot read.")
        default: return error
        }
    }

    private func log(_ level: Logger.Level, _ message: Logger.Message, of kind: String) {
        guard let unlogged = repeatedErrors.admit(kind) else { return }
        logger.log(level: level, message, metadata: unlogged == 0 ? nil : ["likeItSinceTheLast": "\(unlogged)"])
    }
}

/// Limits repeated errors in the log to one line per second and kind, for example while Postgres is down.
final class RepeatedErrors: Sendable {
    private struct Entry {
        var loggedAt: ContinuousClock.Instant
        var unlogged = 0
    }

    private let entries = Mutex<[String: Entry]>([:])

    /// The number of similar errors suppressed since the last logged one; nil to suppress this one too.
    func admit(_ kind: String, now: ContinuousClock.Instant = .now) -> Int? {
        entries.withLock { entries in
            guard let entry = entries[kind], now - entry.loggedAt < .seconds(1) else {
                return entries.updateValue(Entry(loggedAt: now), forKey: kind)?.unlogged ?? 0
            }
            entries[kind]?.unlogged += 1
            return nil
        }
    }
}

/// The time that a request may wait for Postgres. One limit covers the lookups of its key and app, and its work.
enum TimeLeft {
    /// Nil is the whole limit.
    @TaskLocal static var forWork: Duration?

    /// A late request still gets this, which is enough for work of a few milliseconds.
    static let least = Duration.milliseconds(250)
}

extension Registry {
    package func spending<Value>(_ lookups: Duration, _ body: () async throws -> Value) async rethrows -> Value {
        let left = max(TimeLeft.least, units.pool.requestTimeout - lookups)
        return try await TimeLeft.$forWork.withValue(left) { try await body() }
    }
}

/// A stored row that the schema does not allow.
struct UnreadableRow: Error, CustomStringConvertible {
    let detail: String

    var description: String { "unreadable row: \(detail)" }
}

extension Problem {
    init(_ error: PostgresError) {
        switch (error.constraint, error.sqlState?.prefix(2)) {
        case ("apps_tombstones_outlive_activities", _):
            self.init(.invalidRequest, "Tombstones must outlive activities.")
            errors = [
                JSONFault(pointer: "/tombstoneRetention", detail: "must be at least activityLifetime plus one hour")
            ]
        case _ where error.code == .connectionFailed:
            // Includes roles that cannot log in, for example while their password changes.
            self = .unavailable("Postgres did not accept a connection. Send the same request again.")
        case (_, "22"):
            self.init(.invalidRequest, "The request has a value that Postgres cannot store.")
            errors = [JSONFault(pointer: "", detail: "has a value that Postgres cannot store")]
        case _ where error.code == .decoding || error.code == .misuse: self = .unforeseen
        case _ where error.code == .connectionLost:
            // Includes a PANIC, such as that of a full disk.
            self = .unavailable("Postgres did not answer in time. Send the same request again.")
        case (_, "40"), (_, "53"), (_, "55"), (_, "57"), (_, "25"), (_, "08"), (_, nil):
            self = .unavailable("Postgres did not answer in time. Send the same request again.")
        default: self = .unforeseen
        }
    }

    /// The request may be sent again.
    static func unavailable(_ detail: String) -> Problem { Problem(.unavailable, detail, retryAfter: .seconds(1)) }
}
