import Foundation
import Logging
import PostgresDriver
import RegistryCore

/// The registry in Postgres: each method is one unit of work, committed when it returns.
///
/// Every method throws a ``Problem``: `unavailable` when Postgres is away or did not answer in time (the same call may
/// be repeated), and those that its own documentation names.
public final class Registry: Sendable {
    let units: UnitsOfWork
    let registrations: Batcher<RegistrationRequest, RegistrationAnswer>
    let resolutions: Batcher<ResolveRequest, AliasPage>

    var logger: Logger { units.logger }

    /// What the store measures of its own work.
    public var measures: StoreMeasures { units.measures }

    /// What there is of connections to Postgres.
    public var connections: ConnectionCounts { ConnectionCounts(units.pool) }

    /// - Parameter patience: how long a request may wait for others before its own statement begins.
    public init(pool: PostgresPool, patience: Duration = .seconds(5), logger: Logger = Logger(label: "store")) {
        let units = UnitsOfWork(pool: pool, logger: logger)
        self.units = units
        registrations = RegistrationRequest.batcher(units, patience: patience)
        resolutions = ResolveRequest.batcher(units, patience: patience)
    }

    /// Runs a unit of work that writes. After a lost connection it is not repeated: the caller decides that.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (borrowing PostgresSession) throws -> Value
    ) async throws -> Value {
        try await units.write(body)
    }

    /// Runs a unit of work that only reads, once more when its connection was lost.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (borrowing PostgresSession) throws -> Value
    ) async throws -> Value {
        try await units.read(body)
    }
}

/// Runs units of work on connections of the pool, and tells their errors as problems.
struct UnitsOfWork: Sendable {
    let pool: PostgresPool
    let logger: Logger
    let measures = StoreMeasures()
    private let repeatedErrors = RepeatedErrors()

    init(pool: PostgresPool, logger: Logger) {
        self.pool = pool
        self.logger = logger
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (borrowing PostgresSession) throws -> Value
    ) async throws -> Value {
        try await run(.writes, .ifSafe) { session, watch in try watch.timing { try body(session) } }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (borrowing PostgresSession) throws -> Value
    ) async throws -> Value {
        try await run(.reads, .idempotentRead) { session, watch in try watch.timing { try body(session) } }
    }

    /// How long a lane keeps a connection before others may have it, and errors a new time to be tried again in.
    private static let tenure = Duration.seconds(1)

    /// Does the batches of a lane, one after the other, on one connection's own thread: between two of them nobody waits
    /// for another thread.
    ///
    /// What fails, fails the batch that is under way; those before it have been answered.
    ///
    /// - Parameter patience: how long a request that goes alone may block the thread that it came on; see ``PostgresPool``.
    func serve<Request, Answer>(
        _ lane: Batcher<Request, Answer>.Lane,
        _ work: StoreMeasures.Work,
        _ retry: RetryPolicy,
        patience: (Request) -> Duration,
        _ body: @escaping @Sendable (borrowing PostgresSession, [Request]) throws -> [Result<Answer, Problem>]
    ) async throws {
        let timeout = pool.requestTimeout
        try await run(work, retry, patience: lane.only.map(patience)) { session, watch in
            // Where the closure is run again, the lane's batch is the one that failed.
            lane.answer(try watch.timing { try body(session, lane.requests) })
            let end = ContinuousClock.now + min(Self.tenure, timeout / 2)
            while ContinuousClock.now < end, let next = session.renewed(timeout: timeout), lane.takeNext() {
                lane.answer(try watch.timing { try body(next, lane.requests) })
            }
        }
    }

    private func run<Value: Sendable>(
        _ work: StoreMeasures.Work,
        _ retry: RetryPolicy,
        patience: Duration? = nil,
        _ body: @escaping @Sendable (borrowing PostgresSession, Stopwatch) throws -> Value
    ) async throws -> Value {
        let watch = Stopwatch(measures, work)
        do {
            return try await pool.withSession(retry, patience: patience) { try body($0, watch) }
        } catch {
            watch.giveUp()
            throw translated(error)
        }
    }

    /// The problem that callers are told of what became of a unit of work; writes the rest to the log.
    private func translated(_ error: any Error) -> any Error {
        switch error {
        case let error as PostgresError:
            let problem = Problem(error)
            let level: Logger.Level = problem.code == .internalError ? .error : .warning
            log(level, "Postgres: \(error)", of: "\(error.code) \(error.sqlState ?? "")")
            return problem
        case let error as UnsafeDurability:
            log(.error, "\(error)", of: "unsafe")
            return Problem(.unavailable, "Postgres would not keep what it acknowledges, so no write is taken.")
        case let error as UnreadableRow:
            logger.error("\(error)")
            return Problem(.internalError, "The registry holds a row that this version cannot read.")
        default: return error
        }
    }

    private func log(_ level: Logger.Level, _ message: Logger.Message, of kind: String) {
        guard let unlogged = repeatedErrors.admit(kind) else { return }
        logger.log(level: level, message, metadata: unlogged == 0 ? nil : ["likeItSinceTheLast": "\(unlogged)"])
    }
}

extension Problem {
    /// What a caller of the API is told of an error of Postgres.
    init(_ error: PostgresError) {
        switch (error.constraint, error.sqlState?.prefix(2)) {
        case ("apps_tombstones_outlive_activities", _):
            self.init(.invalidRequest, "Tombstones must outlive activities.")
            errors = [
                JSONFault(pointer: "/tombstoneRetention", detail: "must be at least activityLifetime and an hour")
            ]
        case (_, "22"):
            self.init(.invalidRequest, "The request holds a value that Postgres cannot store.")
            errors = [JSONFault(pointer: "", detail: "holds a value that Postgres cannot store")]
        case _ where error.code == .decoding || error.code == .misuse:
            self.init(.internalError, "The registry could not carry out the request.")
        case (_, "40"), (_, "53"), (_, "55"), (_, "57"), (_, "25"), (_, "08"), (_, nil):
            self.init(.unavailable, "Postgres did not answer in time. Send the same request again.")
            retryAfter = .seconds(1)
        default:
            self.init(.internalError, "The registry could not carry out the request.")
        }
    }
}

/// One app in one APNs environment: what every call but the apps' own is about.
public struct Scope: Sendable, Hashable {
    public let app: App
    public let environment: APNSEnvironment

    public init(app: App, environment: APNSEnvironment) {
        self.app = app
        self.environment = environment
    }

    /// Whether statements may mix work of both: apps are told apart by their number, whatever is known of their settings.
    func sharesStatements(with other: Scope) -> Bool {
        app.number == other.app.number && environment == other.environment
    }
}
