/// A connection and the time of its making: after a failover, those of an older generation are not used again.
struct PoolLease<Connection> {
    let connection: Connection
    let generation: Int
}

extension PoolLease: Sendable where Connection: Sendable {}

/// Who has which connection, who waits, and when to connect again: a value without clock, lock or socket.
///
/// Every method returns what its caller must do, outside of the lock.
struct PoolState<Connection, Waiter> {
    typealias Instant = ContinuousClock.Instant

    enum Effect {
        case lend(PoolLease<Connection>, to: Waiter)
        case fail(Waiter, any Error)
        case connect(generation: Int)
        /// Closes a connection, and calls `closed()` then.
        case close(Connection)
    }

    private struct Pending {
        let id: UInt64
        let waiter: Waiter
    }

    private let maximumConnections: Int
    private let maximumWaiting: Int
    private var idle: [PoolLease<Connection>] = []
    private var waiters: [Pending] = []
    private var connecting = 0
    private var closing = 0
    private var generation = 0
    private var backoff = Backoff()
    private(set) var busy = 0
    private(set) var isClosed = false
    private(set) var connects = 0
    private(set) var failures = 0
    var retries = 0

    init(maximumConnections: Int, maximumWaiting: Int) {
        self.maximumConnections = maximumConnections
        self.maximumWaiting = maximumWaiting
    }

    /// Whether no connection is open, lent, being opened or being closed.
    var isEmpty: Bool { idle.isEmpty && busy == 0 && connecting == 0 && closing == 0 }

    var idleCount: Int { idle.count }

    var waitingCount: Int { waiters.count }

    private var live: Int { idle.count + busy }
}

// MARK: - Callers

extension PoolState {
    /// Lends an idle connection at once, if nobody waits for it.
    mutating func takeIdle() -> PoolLease<Connection>? {
        guard !isClosed, waiters.isEmpty, let lease = idle.popLast() else { return nil }
        busy += 1
        return lease
    }

    /// Puts a caller at the end of the queue, or refuses it.
    mutating func enqueue(_ waiter: Waiter, id: UInt64, now: Instant) -> [Effect] {
        if let refusal = refusal(now: now) { return [.fail(waiter, refusal)] }
        waiters.append(Pending(id: id, waiter: waiter))
        return serve(now: now)
    }

    /// Takes a caller out of the queue; nothing happens if it has been served.
    mutating func remove(_ id: UInt64, because error: any Error) -> [Effect] {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return [] }
        return [.fail(waiters.remove(at: index).waiter, error)]
    }

    private func refusal(now: Instant) -> (any Error)? {
        if isClosed { return PostgresError(.poolClosed) }
        if live == 0, let error = backoff.error, now < backoff.end || connecting > 0 { return error }
        // Those whose connection is on its way do not count as waiting.
        let served = idle.count + connecting + (backoff.error == nil ? freeSlots : 0)
        guard waiters.count + 1 - served > maximumWaiting else { return nil }
        return PostgresError(.poolExhausted, outcome: .nothingTookEffect)
    }

    private var freeSlots: Int { maximumConnections - live - connecting }

    private mutating func failAll(_ error: any Error) -> [Effect] {
        defer { waiters.removeAll() }
        return waiters.map { .fail($0.waiter, error) }
    }

    /// Gives idle connections to the first in the queue, and opens new ones for the rest as far as allowed.
    private mutating func serve(now: Instant) -> [Effect] {
        var effects: [Effect] = []
        while !waiters.isEmpty, let lease = idle.popLast() {
            busy += 1
            effects.append(.lend(lease, to: waiters.removeFirst().waiter))
        }
        while waiters.count > connecting, freeSlots > 0, backoff.allowsConnecting(now: now, connecting: connecting) {
            connecting += 1
            effects.append(.connect(generation: generation))
        }
        if connecting == 0, live == 0, let error = backoff.error { effects += failAll(error) }
        return effects
    }
}

// MARK: - Connections

extension PoolState {
    /// A caller gives its connection back.
    mutating func release(_ lease: PoolLease<Connection>, isReusable: Bool, now: Instant) -> [Effect] {
        busy -= 1
        guard isReusable, !isClosed, lease.generation == generation else {
            return close([lease]) + serve(now: now)
        }
        idle.append(lease)
        return serve(now: now)
    }

    /// A connection has been opened.
    mutating func connected(_ lease: PoolLease<Connection>, now: Instant) -> [Effect] {
        connecting -= 1
        connects += 1
        backoff = Backoff()
        guard !isClosed, lease.generation == generation else {
            return close([lease]) + serve(now: now)
        }
        idle.append(lease)
        return serve(now: now)
    }

    /// A connection could not be opened. Without any other connection, all who wait are told at once.
    ///
    /// - Parameter jitter: between 0.5 and 1, the part of the pause that is kept before the next try.
    mutating func connectFailed(_ error: any Error, now: Instant, jitter: Double) -> [Effect] {
        connecting -= 1
        failures += 1
        backoff.note(error, now: now, jitter: jitter)
        return live == 0 ? failAll(error) : []
    }

    /// The server was demoted: closes what is idle, and what is lent when it comes back.
    mutating func startGeneration(after old: Int) -> [Effect] {
        guard old == generation else { return [] }
        generation += 1
        return closeIdle()
    }

    /// A connection has been closed.
    mutating func closed() {
        closing -= 1
    }

    private mutating func closeIdle() -> [Effect] {
        defer { idle.removeAll() }
        return close(idle)
    }

    private mutating func close(_ leases: [PoolLease<Connection>]) -> [Effect] {
        closing += leases.count
        return leases.map { .close($0.connection) }
    }

    /// Refuses new callers and those who wait; lent connections are closed when they come back.
    mutating func shutDown() -> [Effect] {
        isClosed = true
        return closeIdle() + failAll(PostgresError(.poolClosed))
    }
}

/// When the pool may connect again after failures: 50 ms, doubled each time up to one second.
private struct Backoff {
    private static let first = Duration.milliseconds(50)
    private static let longest = Duration.seconds(1)

    /// The last failure; nil when the last attempt succeeded.
    private(set) var error: (any Error)?
    private(set) var end = ContinuousClock.now
    private var pause = Self.first

    mutating func note(_ error: any Error, now: ContinuousClock.Instant, jitter: Double) {
        // Attempts that were under way together count once.
        guard self.error == nil || now >= end else { return }
        self.error = error
        end = now.advanced(by: pause * jitter)
        pause = min(pause * 2, Self.longest)
    }

    /// After a failure one attempt at a time goes ahead, until it has succeeded.
    func allowsConnecting(now: ContinuousClock.Instant, connecting: Int) -> Bool {
        error == nil || (now >= end && connecting == 0)
    }
}
