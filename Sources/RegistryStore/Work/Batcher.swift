import RegistryCore
import Synchronization

/// Requests that arrive while others are in flight share the next statement.
///
/// Nothing waits for a timer: a request that finds a free worker goes at once and alone, and a worker that becomes free
/// takes all queued requests as one batch. So with more load, batches are larger and each request is cheaper.
///
/// While Postgres reads from its disk, a large batch only makes each request wait for all reads: then more workers are
/// open, each with a share of the queue, because a disk is faster with more concurrent reads.
///
/// If one request of a batch is at fault, its requests are retried one by one, so a fault never fails its neighbours.
final class Batcher<Request: Sendable, Output: Sendable>: Sendable {
    /// Runs the batch of a worker and answers it; it may continue with the next ones.
    typealias Perform = @Sendable (Worker) async throws -> Void

    /// Which of the first requests of the queue may share a batch; it must take the first.
    typealias Select = @Sendable (_ candidates: ArraySlice<Request>) -> [Bool]

    /// Called once for each request, on any thread; it must be quick.
    typealias Completion = @Sendable (Result<Output, Problem>) -> Void

    fileprivate struct Waiting {
        let request: Request
        let submitted: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant
        let complete: Completion
    }

    private enum Admission { case queued, free, full }

    private struct State {
        var queue: [Waiting] = []
        var busyWorkers = 0
        /// The last batch waited for a disk or another slow cause.
        var isSlow = false
    }

    private let workers: ClosedRange<Int>
    private let largestBatch: Int
    private let capacity: Int
    private let timeout: Duration
    private let metrics: StoreMetrics.Batches?
    private let select: Select
    private let perform: Perform
    private let state = Mutex(State())

    /// - Parameters:
    ///   - workers: the most concurrent batches: usually, and while Postgres is slow.
    ///   - largestBatch: the most requests of a batch.
    ///   - capacity: the most waiting requests; more are refused at once with 503, before all become slow.
    ///   - timeout: the limit of a request's wait for its batch and its answer together.
    ///   - metrics: get the size of each batch, and the wait of its first request.
    init(
        workers: ClosedRange<Int>,
        largestBatch: Int,
        capacity: Int,
        timeout: Duration,
        metrics: StoreMetrics.Batches? = nil,
        select: @escaping Select,
        perform: @escaping Perform
    ) {
        self.workers = workers
        self.largestBatch = largestBatch
        self.capacity = capacity
        self.timeout = timeout
        self.metrics = metrics
        self.select = select
        self.perform = perform
    }

    /// Runs a request, alone or with others.
    ///
    /// - Parameter executor: runs a worker that this request opens; nil is Swift's own pool.
    /// - Throws: the request's own error; `unavailable` if too many requests wait, or this one waited too long.
    func submit(_ request: Request, on executor: (any TaskExecutor)? = nil) async throws(Problem) -> Output {
        let now = ContinuousClock.now
        let deadline = now + (TimeLeft.forWork ?? timeout)
        return try await withCheckedContinuation { continuation in
            let complete: Completion = { continuation.resume(returning: $0) }
            switch enqueue(Waiting(request: request, submitted: now, deadline: deadline, complete: complete)) {
            case .queued: break
            // On an event loop it starts after all simultaneous requests are read, so that they share a batch.
            case .free: Task(executorPreference: executor) { await self.work() }
            case .full: complete(.failure(.overloaded))
            }
        }.get()
    }

    var waitingCount: Int { state.withLock { $0.queue.count } }

    private func enqueue(_ waiting: Waiting) -> Admission {
        state.withLock { state in
            let isBusy = state.busyWorkers >= openWorkers(state)
            guard state.queue.count < capacity || !isBusy else { return .full }
            state.queue.append(waiting)
            guard !isBusy else { return .queued }
            state.busyWorkers += 1
            return .free
        }
    }

    private func openWorkers(_ state: borrowing State) -> Int { state.isSlow ? workers.upperBound : workers.lowerBound }

    /// Learns from a batch whether Postgres is slow: a row in memory takes some ten microseconds, a read of a disk a
    /// hundred or more. A single request answered from memory shows neither.
    fileprivate func took(_ time: Duration, for count: Int) {
        guard workers.count > 1 else { return }
        let isSlow = time > .microseconds(300) * count
        state.withLock { $0.isSlow = isSlow && ($0.isSlow || time > .milliseconds(5)) }
    }

    /// The number of waiting requests for a worker: while Postgres is slow, it leaves a share for the free workers.
    private func share(_ state: borrowing State) -> Int {
        guard state.isSlow else { return state.queue.count }
        let takers = max(1, workers.upperBound - state.busyWorkers + 1)
        return (state.queue.count + takers - 1) / takers
    }

    private func work() async {
        // The request that opened the worker did not wait, unless another worker took it first.
        guard let first = nextBatch() else { return }
        let worker = Worker(of: self, first)
        repeat { await finish(worker) } while worker.takeNext()
    }

    private func finish(_ worker: Worker) async {
        do {
            try await perform(worker)
        } catch let problem as Problem where problem.code == .unavailable {
            // Postgres is away or too slow: retries one by one would only take longer.
            worker.fail(problem)
        } catch {
            let alone = worker.split()
            for worker in alone where alone.count > 1 { await finish(worker) }
            if alone.count == 1 { alone[0].fail(Self.problem(error)) }
        }
    }

    private static func problem(_ error: any Error) -> Problem {
        error as? Problem ?? Problem(.unavailable, "The request was given up. Send it again.")
    }

    /// Nil if no request waits; the worker is then free.
    fileprivate func nextBatch() -> [Waiting]? {
        guard let batch = takeBatch() else { return nil }
        if opensAnother() { Task { await work() } }
        metrics?.record(size: batch.count, wait: .now - batch[0].submitted)
        return batch
    }

    /// Whether a batch was a share of the queue, and another worker is free for the rest.
    private func opensAnother() -> Bool {
        state.withLock { state in
            guard state.isSlow, !state.queue.isEmpty, state.busyWorkers < workers.upperBound else { return false }
            state.busyWorkers += 1
            return true
        }
    }

    private func takeBatch() -> [Waiting]? {
        state.withLock { state in
            guard !state.queue.isEmpty else {
                state.busyWorkers -= 1
                return nil
            }
            let candidates = state.queue.prefix(min(share(state), largestBatch))
            guard candidates.count > 1 else { return [state.queue.removeFirst()] }
            let goes = select(candidates.map(\.request)[...])
            guard goes.contains(false) else {
                defer { state.queue.removeFirst(goes.count) }
                return Array(candidates)
            }
            let rest = zip(candidates, goes).filter { !$1 }.map(\.0)
            let batch = zip(candidates, goes).filter(\.1).map(\.0)
            state.queue.replaceSubrange(..<candidates.endIndex, with: rest)
            return batch
        }
    }
}

extension Batcher {
    /// One path to Postgres: its current batch, and then the next ones.
    final class Worker: Sendable {
        /// Nil for a batch without a successor.
        private let batcher: Batcher?
        private let state: Mutex<(batch: [Waiting], isClosed: Bool)>

        fileprivate init(of batcher: Batcher, _ first: [Waiting]) {
            self.batcher = batcher
            state = Mutex((first, false))
        }

        private init(_ waiting: Waiting) {
            batcher = nil
            state = Mutex(([waiting], true))
        }

        var requests: [Request] { state.withLock { $0.batch.map(\.request) } }

        var timeLeft: Duration {
            let first = state.withLock { $0.batch.lazy.map(\.deadline).min() }
            return max(TimeLeft.least, first.map { $0 - .now } ?? .zero)
        }

        /// Completes the requests with one answer each, in their order.
        ///
        /// - Parameter time: how long Postgres took for them.
        func complete(_ results: [Result<Output, Problem>], after time: Duration) {
            batcher?.took(time, for: results.count)
            for (waiting, result) in zip(takeRequests(), results) { waiting.complete(result) }
        }

        /// Takes the next batch; requests that waited too long fail.
        ///
        /// - Returns: false if there is none, and the worker is free.
        func takeNext() -> Bool {
            while !state.withLock(\.isClosed), let next = batcher?.nextBatch() {
                let now = ContinuousClock.now
                for waiting in next where waiting.deadline < now { waiting.complete(.failure(.overloaded)) }
                let live = next.filter { $0.deadline >= now }
                guard live.isEmpty else {
                    state.withLock { $0.batch = live }
                    return true
                }
            }
            state.withLock { $0.isClosed = true }
            return false
        }

        fileprivate func fail(_ problem: Problem) {
            for waiting in takeRequests() { waiting.complete(.failure(problem)) }
        }

        fileprivate func split() -> [Worker] { takeRequests().map(Worker.init) }

        private func takeRequests() -> [Waiting] {
            state.withLock { state in
                defer { state.batch = [] }
                return state.batch
            }
        }
    }
}

extension Problem {
    /// Nothing was done; the same request may be sent again.
    static var overloaded: Problem {
        var problem = Problem(.unavailable, "Too many requests wait for Postgres. Send the same request again.")
        problem.retryAfter = .seconds(1)
        return problem
    }
}
