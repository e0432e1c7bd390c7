import Testing

@testable import PostgresDriver

/// The pool's decisions, without clock and sockets: connections are numbers, callers are names.
@Suite struct PoolStateTests {
    typealias State = PoolState<Int, String>

    let start = ContinuousClock.now
    let failure = PostgresError(.connectionFailed)

    private func state(connections: Int = 2, waiting: Int = 10) -> State {
        State(maximumConnections: connections, maximumWaiting: waiting)
    }

    @Test func `Connections are opened for callers up to the limit`() {
        var state = state()
        #expect(state.enqueue("a", id: 1, now: start).summary == ["connect 0"])
        #expect(state.enqueue("b", id: 2, now: start).summary == ["connect 0"])
        #expect(state.enqueue("c", id: 3, now: start).summary == [])
        #expect(state.connected(lease(7), now: start).summary == ["lend 7 to a"])
        #expect(state.waitingCount == 2)
    }

    @Test func `Waiting callers are served in the order of their requests`() {
        var state = state(connections: 1)
        for (id, name) in ["a", "b", "c"].enumerated() { _ = state.enqueue(name, id: UInt64(id), now: start) }
        #expect(state.connected(lease(7), now: start).summary == ["lend 7 to a"])
        #expect(state.takeIdle() == nil)
        #expect(state.release(lease(7), isReusable: true, now: start).summary == ["lend 7 to b"])
        #expect(state.release(lease(7), isReusable: true, now: start).summary == ["lend 7 to c"])
        #expect(state.release(lease(7), isReusable: true, now: start).summary == [])
        #expect(state.takeIdle()?.connection == 7)
    }

    @Test func `A broken connection is replaced for waiting callers`() {
        var state = state(connections: 1)
        _ = state.enqueue("a", id: 1, now: start)
        _ = state.enqueue("b", id: 2, now: start)
        _ = state.connected(lease(7), now: start)
        #expect(state.release(lease(7), isReusable: false, now: start).summary == ["close 7", "connect 0"])
        #expect(state.connected(lease(8), now: start).summary == ["lend 8 to b"])
    }

    @Test func `A failed connect fails waiting callers, and new callers during the pause`() {
        var state = state(connections: 1)
        _ = state.enqueue("a", id: 1, now: start)
        _ = state.enqueue("b", id: 2, now: start)
        let told = state.connectFailed(failure, now: start, jitter: 1).summary
        #expect(told == ["fail a connectionFailed", "fail b connectionFailed"])
        let soon = start.advanced(by: .milliseconds(49))
        #expect(state.enqueue("c", id: 3, now: soon).summary == ["fail c connectionFailed"])
    }

    @Test func `After the pause one caller tries, and the others fail fast`() {
        var state = state()
        _ = state.enqueue("a", id: 1, now: start)
        _ = state.connectFailed(failure, now: start, jitter: 1)
        let later = start.advanced(by: .milliseconds(50))
        #expect(state.enqueue("b", id: 2, now: later).summary == ["connect 0"])
        #expect(state.enqueue("c", id: 3, now: later).summary == ["fail c connectionFailed"])
        #expect(state.connected(lease(7), now: later).summary == ["lend 7 to b"])
        #expect(state.enqueue("d", id: 4, now: later).summary == ["connect 0"])
    }

    @Test func `Pauses between connects double up to a second`() {
        var state = state()
        var now = start
        for milliseconds in [50, 100, 200, 400, 800, 1000, 1000] {
            _ = state.enqueue("a", id: 1, now: now)
            _ = state.connectFailed(failure, now: now, jitter: 1)
            #expect(
                state.enqueue("b", id: 2, now: now.advanced(by: .milliseconds(milliseconds - 1))).summary.count == 1
            )
            #expect(state.waitingCount == 0)
            now = now.advanced(by: .milliseconds(milliseconds))
        }
    }

    @Test func `Concurrent failed connects count as one failure`() {
        var state = state()
        _ = state.enqueue("a", id: 1, now: start)
        _ = state.enqueue("b", id: 2, now: start)
        _ = state.connectFailed(failure, now: start, jitter: 1)
        _ = state.connectFailed(failure, now: start, jitter: 1)
        let later = start.advanced(by: .milliseconds(50))
        #expect(state.enqueue("c", id: 3, now: later).summary == ["connect 0"])
        #expect(state.failures == 2)
    }

    @Test func `Callers wait for a live connection if a further connect fails`() {
        var state = state()
        _ = state.enqueue("a", id: 1, now: start)
        _ = state.connected(lease(7), now: start)
        #expect(state.enqueue("b", id: 2, now: start).summary == ["connect 0"])
        #expect(state.connectFailed(failure, now: start, jitter: 1).summary == [])
        #expect(state.enqueue("c", id: 3, now: start).summary == [])
        #expect(state.release(lease(7), isReusable: true, now: start).summary == ["lend 7 to b"])
        #expect(
            state.release(lease(7), isReusable: false, now: start).summary == ["close 7", "fail c connectionFailed"]
        )
    }

    @Test func `A new generation drops the old ones`() {
        var state = state(connections: 3)
        for id in 0..<3 { _ = state.enqueue("\(id)", id: UInt64(id), now: start) }
        for connection in 0..<3 { _ = state.connected(lease(connection), now: start) }
        _ = state.release(lease(0), isReusable: true, now: start)
        let old = state.generation
        #expect(!old.isOver)
        #expect(state.startGeneration(after: PoolGeneration(0)).summary == ["close 0"])
        #expect(old.isOver && !state.generation.isOver)
        #expect(state.startGeneration(after: PoolGeneration(0)).summary == [])
        #expect(state.release(lease(1), isReusable: true, now: start).summary == ["close 1"])
        #expect(state.enqueue("d", id: 4, now: start).summary == ["connect 1"])
        #expect(state.connected(lease(9, generation: 1), now: start).summary == ["lend 9 to d"])
    }

    @Test func `A connection being opened during the demotion is replaced`() {
        var state = state(connections: 1)
        _ = state.enqueue("a", id: 1, now: start)
        _ = state.startGeneration(after: PoolGeneration(0))
        #expect(state.connected(lease(7), now: start).summary == ["close 7", "connect 1"])
    }

    @Test func `A pool after shutdown refuses callers and closes connections`() {
        var state = state(connections: 2)
        _ = state.enqueue("a", id: 1, now: start)
        _ = state.enqueue("b", id: 2, now: start)
        _ = state.connected(lease(1), now: start)
        _ = state.connected(lease(2), now: start)
        _ = state.release(lease(1), isReusable: true, now: start)
        _ = state.enqueue("c", id: 3, now: start)
        _ = state.enqueue("d", id: 4, now: start)
        #expect(state.shutDown().summary == ["fail d poolClosed"])
        #expect(state.enqueue("e", id: 5, now: start).summary == ["fail e poolClosed"])
        #expect(state.release(lease(1), isReusable: true, now: start).summary == ["close 1"])
        #expect(state.release(lease(2), isReusable: true, now: start).summary == ["close 2"])
        #expect(!state.isEmpty)
        state.closed()
        state.closed()
        #expect(state.isEmpty)
    }

    @Test func `One timer refuses each waiting caller at its own deadline`() {
        var state = state(connections: 1)
        func time(_ seconds: Int) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }
        #expect(state.enqueue("a", id: 1, until: time(10), now: start).wakes == [time(10)])
        #expect(state.enqueue("b", id: 2, until: time(20), now: start).wakes == [])
        #expect(state.enqueue("c", id: 3, .hot, until: time(30), now: start).wakes == [])
        // A shorter timeout needs an earlier timer.
        #expect(state.enqueue("d", id: 4, until: time(5), now: start).wakes == [time(5)])
        let first = state.refuseOverdue(planned: time(5), now: time(5))
        #expect(first.summary == ["fail d deadlineExceeded"])
        #expect(first.wakes == [time(10)])
        // This timer is late, and two deadlines have passed.
        let second = state.refuseOverdue(planned: time(10), now: time(20))
        #expect(second.summary == ["fail a deadlineExceeded", "fail b deadlineExceeded"])
        #expect(second.wakes == [time(30)])
        // An earlier timer has replaced this one, so it has no effect.
        let third = state.refuseOverdue(planned: time(10), now: time(20))
        #expect(third.summary == [])
        #expect(third.wakes == [])
        #expect(state.connected(lease(7), now: time(21)).summary == ["lend 7 to c"])
        let last = state.refuseOverdue(planned: time(30), now: time(30))
        #expect(last.summary == [])
        #expect(last.wakes == [])
        #expect(state.waitingCount == 0)
        #expect(state.enqueue("e", id: 5, until: time(50), now: time(31)).wakes == [time(50)])
    }
}

func lease(_ connection: Int, _ priority: PoolPriority = .usual, generation: Int = 0) -> PoolLease<Int> {
    PoolLease(connection: connection, generation: PoolGeneration(generation), priority: priority)
}

extension PoolState where Connection == Int, Waiter == String {
    mutating func enqueue(_ waiter: String, id: UInt64, _ priority: PoolPriority = .usual, now: Instant) -> [Effect] {
        enqueue(waiter, id: id, priority, until: now.advanced(by: .seconds(60)), now: now)
    }
}

extension [PoolState<Int, String>.Effect] {
    var summary: [String] {
        compactMap { effect in
            switch effect {
            case .lend(let lease, let waiter): "lend \(lease.connection) to \(waiter)"
            case .fail(let waiter, let error): "fail \(waiter) \((error as? PostgresError)?.code.rawValue ?? "")"
            case .connect(let generation): "connect \(generation.number)"
            case .close(let connection): "close \(connection)"
            case .wake: nil
            }
        }
    }

    /// The times of the timers that the pool requests.
    var wakes: [ContinuousClock.Instant] {
        compactMap { effect in if case .wake(let time) = effect { time } else { nil } }
    }
}

@Suite struct PoolReserveTests {
    typealias State = PoolState<Int, String>

    private let start = ContinuousClock.now

    /// Four connections, one reserved. Usual work has the other three.
    private func crowded() -> State {
        var state = State(maximumConnections: 4, reserve: 1, maximumWaiting: 10)
        for id in 0..<3 {
            _ = state.enqueue("usual \(id)", id: UInt64(id), now: start)
            _ = state.connected(lease(id, .usual), now: start)
        }
        return state
    }

    @Test func `A caller that gets a connection has time left to use it`() {
        let long = Deadline.after(.seconds(60))
        #expect(long.endOfWaiting.duration(to: long) == .milliseconds(250))
        let short = Deadline.after(.milliseconds(400))
        #expect((.zero ... .milliseconds(100)).contains(short.endOfWaiting.duration(to: short)))
    }

    @Test func `The reserve is for hot work only`() {
        var state = crowded()
        #expect(state.enqueue("late", id: 10, now: start).summary == [])
        #expect(state.enqueue("hot", id: 11, .hot, now: start).summary == ["connect 0"])
        #expect(state.connected(lease(3, .usual), now: start).summary == ["lend 3 to hot"])
        #expect(state.release(lease(3, .hot), isReusable: true, now: start).summary == [])
        #expect(state.idleCount == 1)
        #expect(state.waitingCount == 1)
        // This connection is idle, but reserved; hot work takes it before the waiting usual caller.
        #expect(state.takeIdle(.usual) == nil)
        #expect(state.takeIdle(.hot)?.connection == 3)
        #expect(state.release(lease(0, .usual), isReusable: true, now: start).summary == ["lend 0 to late"])
    }

    @Test func `Permitted callers are served in the order of their requests`() {
        var state = crowded()
        _ = state.enqueue("hot 1", id: 10, .hot, now: start)
        _ = state.connected(lease(3, .usual), now: start)
        _ = state.enqueue("usual", id: 11, now: start)
        _ = state.enqueue("hot 2", id: 12, .hot, now: start)
        _ = state.enqueue("hot 3", id: 13, .hot, now: start)
        // Usual work is at its limit until one of its own connections returns.
        #expect(state.release(lease(3, .hot), isReusable: true, now: start).summary == ["lend 3 to hot 2"])
        #expect(state.release(lease(0, .usual), isReusable: true, now: start).summary == ["lend 0 to usual"])
        #expect(state.release(lease(1, .usual), isReusable: true, now: start).summary == ["lend 1 to hot 3"])
    }

    @Test func `Each priority has its own bounded queue`() {
        var state = State(maximumConnections: 2, reserve: 1, maximumWaiting: 1)
        #expect(state.enqueue("a", id: 1, now: start).summary == ["connect 0"])
        #expect(state.enqueue("b", id: 2, now: start).summary == [])
        #expect(state.enqueue("c", id: 3, now: start).summary == ["fail c poolExhausted"])
        #expect(state.enqueue("hot 1", id: 4, .hot, now: start).summary == ["connect 0"])
        #expect(state.enqueue("hot 2", id: 5, .hot, now: start).summary == [])
        #expect(state.remove(2, because: PostgresError(.deadlineExceeded)).summary == ["fail b deadlineExceeded"])
        #expect(state.remove(2, because: PostgresError(.deadlineExceeded)).summary == [])
        #expect(state.enqueue("d", id: 6, now: start).summary == [])
        #expect(state.remove(6, because: PostgresError(.deadlineExceeded)).summary == ["fail d deadlineExceeded"])
        #expect(state.remove(5, because: PostgresError(.deadlineExceeded)).summary == ["fail hot 2 deadlineExceeded"])
        #expect(state.shutDown().summary == ["fail a poolClosed", "fail hot 1 poolClosed"])
    }

    @Test func `One connection is always left for usual work`() {
        var state = State(maximumConnections: 1, reserve: 1, maximumWaiting: 1)
        #expect(state.enqueue("a", id: 1, now: start).summary == ["connect 0"])
        #expect(state.connected(lease(7, .usual), now: start).summary == ["lend 7 to a"])
    }

    /// Usual work never exceeds its share, no connection is lent twice, and no caller waits while a connection is free for it.
    @Test func `The reserve holds through any series of requests`() {
        var random = SystemRandomNumberGenerator()
        var state = State(maximumConnections: 8, reserve: 2, maximumWaiting: 1000)
        var (lent, waiting): ([Int: PoolPriority], [String: PoolPriority]) = ([:], [:])
        var (opening, made, id) = (0, 0, UInt64(0))
        func note(_ effects: [State.Effect]) {
            for effect in effects {
                switch effect {
                case .lend(let lease, let waiter):
                    #expect(lent.updateValue(lease.priority, forKey: lease.connection) == nil)
                    #expect(waiting.removeValue(forKey: waiter) == lease.priority)
                case .connect: opening += 1
                case .wake: break
                case .fail, .close: Issue.record("\(effect)")
                }
            }
        }
        for _ in 0..<5000 {
            switch Int.random(in: 0..<3, using: &random) {
            case 0 where waiting.count < 50:
                let priority = Bool.random(using: &random) ? PoolPriority.hot : .usual
                id += 1
                waiting["\(id)"] = priority
                note(state.enqueue("\(id)", id: id, priority, now: start))
            case 1 where opening > 0:
                (opening, made) = (opening - 1, made + 1)
                note(state.connected(lease(made, .usual), now: start))
            default:
                guard let (connection, priority) = lent.randomElement(using: &random) else { continue }
                lent[connection] = nil
                note(state.release(lease(connection, priority), isReusable: true, now: start))
            }
            let usual = lent.values.filter { $0 == .usual }.count
            #expect(usual <= 6)
            #expect(lent.count <= 8)
            let isFree = state.idleCount > 0
            #expect(!isFree || !waiting.values.contains(.hot))
            #expect(!isFree || usual == 6 || waiting.isEmpty)
        }
    }
}
