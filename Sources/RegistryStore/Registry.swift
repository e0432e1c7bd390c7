import Logging
import PostgresDriver
import RegistryCore

/// The registry in Postgres. Each method is one unit of work, committed when it returns.
///
/// Every method throws ``Problem``: the codes that `openapi.json` lists for its operation, or `unavailable` if Postgres
/// is down or too slow; the call may then be repeated.
package final class Registry: Sendable {
    let units: UnitsOfWork
    let registrations: Batcher<RegistrationRequest, RegistrationResult>
    let resolutions: Batcher<ResolveRequest, AliasRows>
    let keyLookups: Batcher<APIKeyID, [APIKeyRecord]>
    let appLookups: Batcher<BundleID, App?>

    package var metrics: StoreMetrics { units.metrics }
    /// The pool's connections, and its units of work: those that wait, and those retried after an error without effect.
    package var connections: (idle: Int, busy: Int, opened: Int, failures: Int, waiting: Int, retries: Int) {
        let pool = units.pool.statistics
        return (pool.idle, pool.busy, pool.connects, pool.failures, pool.waiting, pool.retries)
    }
    package var mostConnections: Int { units.pool.maximumConnections }

    /// The pool's `requestTimeout` limits a request's wait for Postgres.
    package init(pool: PostgresPool, logger: Logger = Logger(label: "store")) {
        let units = UnitsOfWork(pool: pool, logger: logger)
        self.units = units
        registrations = .registrations(units)
        resolutions = ResolveRequest.batcher(units)
        keyLookups = .lookups(units) { try APIKeyRecord.find($0, $1) }
        appLookups = .lookups(units) { try App.find($0, $1) }
    }

    /// Not retried after a lost connection: the caller decides.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (borrowing PostgresSession) throws -> Value
    ) async throws -> Value {
        try await units.run(.writes, .ifSafe) { session, watch in try watch.timed { try body(session) }.value }
    }

    /// Runs a statement about a page of rows, in a transaction each time, until no row is left.
    @discardableResult func writePages(_ statement: SQL) async throws -> Int {
        var total = 0
        while case let count = try await write({ try $0.execute(statement).affectedRows }), count > 0 { total += count }
        return total
    }

    /// Like ``write(_:)``, in a transaction that restarts if it needs other locks.
    func transact<Value: Sendable>(
        _ body: @escaping @Sendable (borrowing PostgresTransaction, _ additionalIDs: Set<ActivityID>) throws -> Value
    ) async throws -> Value {
        try await write { try $0.transaction(body) }
    }

    /// Retried once after a lost connection.
    func read<Value: Sendable>(
        priority: PoolPriority = .usual,
        _ body: @escaping @Sendable (borrowing PostgresSession) throws -> Value
    ) async throws -> Value {
        try await units.run(.reads, .idempotentRead, priority) { session, watch in
            try watch.timed { try body(session) }.value
        }
    }
}

/// One app in one APNs environment: the subject of every call except calls about apps.
package struct Scope: Sendable, Hashable {
    package let app: App
    package let environment: APNSEnvironment

    package init(app: App, environment: APNSEnvironment) { (self.app, self.environment) = (app, environment) }

    /// The `scope_id` of its rows. Compare ids, because an app's settings may change between two requests.
    package var id: Int64 { app.scopeIDs[environment] }
    var other: Scope { Scope(app: app, environment: environment.other) }
}
