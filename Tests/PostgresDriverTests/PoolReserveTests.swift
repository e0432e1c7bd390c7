import Testing

@testable import PostgresDriver

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

    /// Usual work never exceeds its share, no connection is lent twice, and no caller waits while a connection is free
    /// for it.
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
