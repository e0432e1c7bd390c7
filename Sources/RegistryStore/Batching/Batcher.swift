import RegistryCore
import Synchronization

/// Lets requests that come while others are under way share the next statement.
///
/// Nothing waits for a timer: a request that finds a free lane goes at once and alone, and when a lane becomes free all
/// that queued meanwhile goes as one batch. So the busier it is, the larger the batches and the cheaper each request.
/// A batch in which one request is at fault is done again one by one, so a fault never fails its neighbours.
final class Batcher<Request: Sendable, Answer: Sendable>: Sendable {
    /// Does a batch.
    ///
    /// - Returns: an answer for each request, in their order.
    typealias Perform = @Sendable ([Request]) async throws -> [Result<Answer, Problem>]

    /// Which of the first requests of the queue may go together; it must take the first.
    typealias Select = @Sendable (_ candidates: ArraySlice<Request>) -> [Bool]

    private struct Waiting {
        let request: Request
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Result<Answer, Problem>, Never>
    }

    private enum Place { case queued, free, full }

    private struct State {
        var queue: [Waiting] = []
        var busyLanes = 0
    }

    private let lanes: Int
    private let largestBatch: Int
    private let capacity: Int
    private let patience: Duration
    private let select: Select
    private let perform: Perform
    private let state = Mutex(State())

    /// - Parameters:
    ///   - lanes: how many batches are under way at most.
    ///   - largestBatch: how many requests a batch has at most.
    ///   - capacity: how many requests may wait; more are refused at once with 503, before all become slow.
    ///   - patience: how long a request may wait for its batch to begin.
    init(
        lanes: Int,
        largestBatch: Int,
        capacity: Int,
        patience: Duration,
        select: @escaping Select,
        perform: @escaping Perform
    ) {
        self.lanes = lanes
        self.largestBatch = largestBatch
        self.capacity = capacity
        self.patience = patience
        self.select = select
        self.perform = perform
    }

    /// Does a request, alone or with others.
    ///
    /// - Throws: what its own part of the batch failed with; `unavailable` when too many wait.
    func submit(_ request: Request) async throws(Problem) -> Answer {
        if takeFreeLane() {
            let result = await result(of: request)
            leaveLane()
            return try result.get()
        }
        return try await withCheckedContinuation { continuation in
            enqueue(Waiting(request: request, deadline: .now + patience, continuation: continuation))
        }.get()
    }

    /// How many requests wait for a lane.
    var waitingCount: Int { state.withLock { $0.queue.count } }

    // MARK: Lanes

    private func takeFreeLane() -> Bool {
        state.withLock { state in
            guard state.busyLanes < lanes, state.queue.isEmpty else { return false }
            state.busyLanes += 1
            return true
        }
    }

    private func enqueue(_ waiting: Waiting) {
        let place = state.withLock { state -> Place in
            guard state.queue.count < capacity else { return .full }
            state.queue.append(waiting)
            guard state.busyLanes < lanes else { return .queued }
            state.busyLanes += 1
            return .free
        }
        switch place {
        case .queued: break
        case .free: Task { await work() }
        case .full: waiting.continuation.resume(returning: .failure(.overloaded))
        }
    }

    /// Whoever waits gets a lane of its own task: the caller has its answer and goes.
    private func leaveLane() {
        let othersWait = state.withLock { state in
            if state.queue.isEmpty { state.busyLanes -= 1 }
            return !state.queue.isEmpty
        }
        if othersWait { Task { await work() } }
    }

    /// Does batches until nobody waits.
    private func work() async {
        while let batch = nextBatch() {
            let now = ContinuousClock.now
            let live = batch.filter { waiting in
                guard waiting.deadline < now else { return true }
                waiting.continuation.resume(returning: .failure(.overloaded))
                return false
            }
            guard !live.isEmpty else { continue }
            let results = await results(of: live.map(\.request))
            for (waiting, result) in zip(live, results) { waiting.continuation.resume(returning: result) }
        }
    }

    private func nextBatch() -> [Waiting]? {
        state.withLock { state in
            guard !state.queue.isEmpty else {
                state.busyLanes -= 1
                return nil
            }
            let candidates = state.queue.prefix(largestBatch)
            guard candidates.count > 1 else { return [state.queue.removeFirst()] }
            let goes = select(candidates.map(\.request)[...])
            let rest = zip(candidates, goes).filter { !$1 }.map(\.0)
            let batch = zip(candidates, goes).filter(\.1).map(\.0)
            state.queue.replaceSubrange(..<candidates.endIndex, with: rest)
            return batch
        }
    }

    // MARK: Batches

    private func result(of request: Request) async -> Result<Answer, Problem> {
        do {
            return try await perform([request])[0]
        } catch let problem as Problem {
            return .failure(problem)
        } catch {
            return .failure(Problem(.unavailable, "The request was given up. Send it again."))
        }
    }

    private func results(of requests: [Request]) async -> [Result<Answer, Problem>] {
        guard requests.count > 1 else { return [await result(of: requests[0])] }
        do {
            return try await perform(requests)
        } catch let problem as Problem where problem.code == .unavailable {
            // Postgres is away or too slow: one by one would only take longer.
            return requests.map { _ in .failure(problem) }
        } catch {
            var results: [Result<Answer, Problem>] = []
            for request in requests { results.append(await result(of: request)) }
            return results
        }
    }
}

extension Problem {
    /// Nothing was done; the same bytes may be sent again.
    static var overloaded: Problem {
        var problem = Problem(.unavailable, "Too many requests wait for Postgres. Send the same request again.")
        problem.retryAfter = .seconds(1)
        return problem
    }
}
