import Synchronization

package enum PoolPriority: Sendable, Hashable {
    /// Short work with many waiting callers: may use every connection.
    case hot
    /// All other work: leaves the reserve free.
    case usual
}

/// A connection and its generation. After a failover, connections of older generations are not reused.
struct PoolLease<Connection: Sendable>: Sendable {
    let connection: Connection
    let generation: PoolGeneration
    var priority = PoolPriority.usual
}

/// Connections, holders, waiting callers and the time of the next connect, as a value without clock, lock or socket.
///
/// Usual work never uses the reserve, and its callers that wait at that limit do not delay hot work. Otherwise callers
/// are served in order of arrival.
///
/// Every method returns effects that the caller must perform outside the lock.
struct PoolState<Connection: Sendable, Waiter> {
    typealias Instant = ContinuousClock.Instant

    enum Effect {
        case lend(PoolLease<Connection>, to: Waiter)
        case fail(Waiter, any Error)
        case connect(PoolGeneration)
        /// Close the connection, then call `closed()`.
        case close(Connection)
        /// Call `refuseOverdue` at this time.
        case wake(at: Instant)
    }

    private struct Pending {
        let id: UInt64
        let waiter: Waiter
        let priority: PoolPriority
        let deadline: Instant
    }

    private let maximumConnections: Int
    private let maximumWaiting: Int
    private let usualLimit: Int
    private var idle: [PoolLease<Connection>] = []
    /// In the order of arrival.
    private var pending: [Pending] = []
    /// The time of the next `refuseOverdue`. All callers share one timer, because a cancelled sleep keeps its memory
    /// until it would have ended.
    private var nextWake: Instant?
    private var busyWithUsual = 0
    private var connecting = 0
    private var closing = 0
    private(set) var generation = PoolGeneration(0)
    private var backoff = Backoff()
    private(set) var busy = 0
    private(set) var isClosed = false
    private(set) var connects = 0
    private(set) var failures = 0
    var retries = 0

    /// - Parameters:
    ///   - reserve: connections kept for hot work; at least one connection is left for all work.
    ///   - maximumWaiting: maximum waiting callers per priority.
    init(maximumConnections: Int, reserve: Int = 0, maximumWaiting: Int) {
        self.maximumConnections = maximumConnections
        self.maximumWaiting = maximumWaiting
        usualLimit = max(1, maximumConnections - max(0, reserve))
    }

    var isEmpty: Bool { idle.isEmpty && busy == 0 && connecting == 0 && closing == 0 }
    var idleCount: Int { idle.count }
    var waitingCount: Int { pending.count }
    private var live: Int { idle.count + busy }

    /// Lends an idle connection at once if no caller of this priority waits.
    mutating func takeIdle(_ priority: PoolPriority = .usual) -> PoolLease<Connection>? {
        guard !isClosed, isPermitted(priority), !pending.contains(where: { $0.priority == priority }) else {
            return nil
        }
        return lendIdle(priority)
    }

    mutating func enqueue(
        _ waiter: Waiter,
        id: UInt64,
        _ priority: PoolPriority = .usual,
        until deadline: Instant,
        now: Instant
    ) -> [Effect] {
        if let refusal = refusal(priority, now: now) { return [.fail(waiter, refusal)] }
        pending.append(Pending(id: id, waiter: waiter, priority: priority, deadline: deadline))
        return serve(now: now) + wake(at: deadline)
    }

    mutating func refuseOverdue(planned: Instant, now: Instant) -> [Effect] {
        let message = "no connection became free before the deadline"
        let error = PostgresError(.deadlineExceeded, message, outcome: .nothingTookEffect)
        let refusals = fail(error) { $0.deadline <= now }
        // Otherwise another call is planned before any deadline.
        guard planned == nextWake else { return refusals }
        nextWake = nil
        guard let next = pending.map(\.deadline).min() else { return refusals }
        return refusals + wake(at: next)
    }

    /// Has no effect on a caller already served.
    mutating func remove(_ id: UInt64, because error: any Error) -> [Effect] { fail(error) { $0.id == id } }

    private mutating func wake(at time: Instant) -> [Effect] {
        if let nextWake, nextWake <= time { return [] }
        nextWake = time
        return [.wake(at: time)]
    }

    private func isPermitted(_ priority: PoolPriority) -> Bool { priority == .hot || usualRoom > 0 }
    private func waiting(_ priority: PoolPriority) -> Int { pending.count { $0.priority == priority } }

    private func refusal(_ priority: PoolPriority, now: Instant) -> (any Error)? {
        if isClosed { return PostgresError(.poolClosed) }
        if live == 0, let error = backoff.error, now < backoff.end || connecting > 0 { return error }
        // Callers for which a connection is being opened do not count as waiting.
        let coming = idle.count + connecting + (backoff.error == nil ? freeSlots : 0)
        let served = priority == .hot ? coming : min(coming, usualRoom)
        guard waiting(priority) + 1 - served > maximumWaiting else { return nil }
        return PostgresError(.poolExhausted, outcome: .nothingTookEffect)
    }

    private var freeSlots: Int { maximumConnections - live - connecting }
    private var usualRoom: Int { usualLimit - busyWithUsual }
    private mutating func failAll(_ error: any Error) -> [Effect] { fail(error) { _ in true } }

    private mutating func fail(_ error: any Error, where isOver: (Pending) -> Bool) -> [Effect] {
        defer { pending.removeAll(where: isOver) }
        return pending.filter(isOver).map { .fail($0.waiter, error) }
    }

    private mutating func lendIdle(_ priority: PoolPriority) -> PoolLease<Connection>? {
        guard var lease = idle.popLast() else { return nil }
        lease.priority = priority
        busy += 1
        if priority == .usual { busyWithUsual += 1 }
        return lease
    }

    private mutating func serve(now: Instant) -> [Effect] {
        var effects: [Effect] = []
        while let index = pending.firstIndex(where: { isPermitted($0.priority) }),
            let lease = lendIdle(pending[index].priority)
        {
            effects.append(.lend(lease, to: pending.remove(at: index).waiter))
        }
        let servable = waiting(.hot) + min(waiting(.usual), usualRoom)
        while servable > connecting, freeSlots > 0, backoff.error == nil || (now >= backoff.end && connecting == 0) {
            connecting += 1
            effects.append(.connect(generation))
        }
        if connecting == 0, live == 0, let error = backoff.error { effects += failAll(error) }
        return effects
    }

    mutating func release(_ lease: PoolLease<Connection>, isReusable: Bool, now: Instant) -> [Effect] {
        busy -= 1
        if lease.priority == .usual { busyWithUsual -= 1 }
        return keep(lease, if: isReusable, now: now)
    }

    mutating func connected(_ lease: PoolLease<Connection>, now: Instant) -> [Effect] {
        connecting -= 1
        connects += 1
        backoff = Backoff()
        return keep(lease, if: true, now: now)
    }

    private mutating func keep(_ lease: PoolLease<Connection>, if isReusable: Bool, now: Instant) -> [Effect] {
        guard isReusable, !isClosed, lease.generation.number == generation.number else {
            return close([lease]) + serve(now: now)
        }
        idle.append(lease)
        return serve(now: now)
    }

    /// Fails all waiting callers unless another connection is open.
    ///
    /// - Parameter jitter: a factor for the pause before the next attempt, from 0.5 to 1.
    mutating func connectFailed(_ error: any Error, now: Instant, jitter: Double) -> [Effect] {
        connecting -= 1
        failures += 1
        backoff.note(error, now: now, jitter: jitter)
        return live == 0 ? failAll(error) : []
    }

    /// After a demotion or a silent server, closes idle connections now, and lent connections when they are returned.
    mutating func startGeneration(after old: PoolGeneration) -> [Effect] {
        guard old.number == generation.number else { return [] }
        generation.end()
        generation = PoolGeneration(old.number + 1)
        return closeIdle()
    }

    mutating func closed() { closing -= 1 }

    private mutating func closeIdle() -> [Effect] {
        defer { idle.removeAll() }
        return close(idle)
    }

    private mutating func close(_ leases: [PoolLease<Connection>]) -> [Effect] {
        closing += leases.count
        return leases.map { .close($0.connection) }
    }

    mutating func shutDown() -> [Effect] {
        isClosed = true
        return closeIdle() + failAll(PostgresError(.poolClosed))
    }
}

/// The connections opened between two moments at which the pool gave up all connections.
///
/// A lent connection checks its generation after each answer, because a frozen primary that resumes returns old rows
/// although another server may have taken over.
final class PoolGeneration: Sendable {
    let number: Int
    private let isGivenUp = Atomic(false)
    private let answerCount = Atomic(0)

    init(_ number: Int) { self.number = number }
    var isOver: Bool { isGivenUp.load(ordering: .acquiring) }
    var answers: Int { answerCount.load(ordering: .relaxed) }
    func noteAnswer() { answerCount.add(1, ordering: .relaxed) }
    func end() { isGivenUp.store(true, ordering: .releasing) }
}

/// The pause after failed connects: 50 ms, doubled up to one second.
struct Backoff {
    private(set) var error: (any Error)?
    private(set) var end = ContinuousClock.now
    private var pause = Duration.milliseconds(50)

    mutating func note(_ error: any Error, now: ContinuousClock.Instant, jitter: Double) {
        // Concurrent attempts count once.
        guard self.error == nil || now >= end else { return }
        self.error = error
        end = now.advanced(by: pause * jitter)
        pause = min(pause * 2, .seconds(1))
    }
}
