import PostgresDriver
import RegistryCore
import Synchronization

/// Requests that arrive while others are in flight share the next statement.
///
/// No request waits for a timer. A request that finds a free worker runs at once and alone; a worker that becomes free
/// takes all queued requests as one batch. As load grows, batches become larger and each request cheaper.
///
/// Few workers make large batches, which cost the least. While Postgres waits for a disk or a network, more workers open,
/// each with a share of the queue, because such waits overlap. They also open while many requests wait, and for what a
/// batch leaves in the queue.
///
/// If one request of a batch fails, the requests are retried one by one, so that the others succeed.
final class Batcher<Request: Sendable, Output: Sendable>: Sendable {
    /// Runs a worker's batch and answers it. May continue with further batches.
    typealias Perform = @Sendable (Worker) async throws -> Void

    /// Whether a waiting request may share the batch of the first one.
    typealias MayShare = @Sendable (_ first: Request, _ other: Request) -> Bool

    /// Called once per request, on any thread. Must be quick.
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
        /// During the last batch, Postgres mostly waited.
        var isSlow = false
    }

    private let workers: ClosedRange<Int>
    private let largestBatch: Int
    private let crowd: Int
    private let capacity: Int
    private let timeout: Duration
    private let metrics: StoreMetrics.Batches?
    private let mayShare: MayShare
    private let perform: Perform
    private let state = Mutex(State())

    /// - Parameters:
    ///   - workers: concurrent batches: normally, and at most.
    ///   - largestBatch: maximum requests per batch.
    ///   - crowd: the number of waiting requests that opens further workers.
    ///   - capacity: maximum waiting requests. Further requests fail at once with 503, so that the others stay fast.
    ///   - timeout: limits a request's wait for its batch and answer together.
    ///   - metrics: records batch sizes, and the wait of each batch's first request.
    init(
        workers: ClosedRange<Int>,
        largestBatch: Int,
        crowd: Int = .max,
        capacity: Int = 10_000,
        timeout: Duration,
        metrics: StoreMetrics.Batches? = nil,
        mayShare: @escaping MayShare = { _, _ in true },
        perform: @escaping Perform
    ) {
        self.workers = workers
        self.largestBatch = largestBatch
        self.crowd = crowd
        self.capacity = capacity
        self.timeout = timeout
        self.metrics = metrics
        self.mayShare = mayShare
        self.perform = perform
    }

    /// - Parameter executor: runs a worker that this request opens; nil for Swift's default.
    /// - Throws: the request's own error; `unavailable` if too many requests wait or this request waited too long.
    func submit(_ request: Request, on executor: (any TaskExecutor)? = nil) async throws(Problem) -> Output {
        let now = ContinuousClock.now
        let deadline = now + (TimeLeft.forWork ?? timeout)
        return try await withCheckedContinuation { continuation in
            let complete: Completion = { continuation.resume(returning: $0) }
            switch enqueue(Waiting(request: request, submitted: now, deadline: deadline, complete: complete)) {
            case .queued: break
            // On an event loop the task starts after all pending requests are read, so they share a batch.
            case .free: Task(executorPreference: executor) { await self.work() }
            case .full: complete(.failure(.overloaded))
            }
        }.get()
    }

    var waitingCount: Int { state.withLock { $0.queue.count } }

    private func enqueue(_ waiting: Waiting) -> Admission {
        state.withLock { state in
            state.queue.append(waiting)
            if state.busyWorkers < openWorkers(state) {
                state.busyWorkers += 1
                return .free
            }
            guard state.queue.count > capacity else { return .queued }
            state.queue.removeLast()
            return .full
        }
    }

    private func openWorkers(_ state: borrowing State) -> Int {
        state.isSlow || state.queue.count >= crowd ? workers.upperBound : workers.lowerBound
    }

    /// Without waits, a batch takes less than a millisecond and 100 microseconds per request.
    fileprivate func took(_ time: Duration, for count: Int) {
        guard workers.count > 1 else { return }
        state.withLock { $0.isSlow = time > .milliseconds(1) + .microseconds(100) * count }
    }

    /// How many waiting requests a worker takes. While Postgres is slow, it leaves a share for the free workers.
    private func share(_ state: borrowing State) -> Int {
        guard state.isSlow else { return state.queue.count }
        let takers = max(1, workers.upperBound - state.busyWorkers + 1)
        return (state.queue.count + takers - 1) / takers
    }

    /// - Parameter takesRest: whether it runs a batch even if fewer workers suffice.
    private func work(takesRest: Bool = false) async {
        // Another worker may have taken the request that opened this worker.
        guard let first = nextBatch(takesRest) else { return }
        let worker = Worker(of: self, first)
        repeat { await finish(worker) } while worker.takeNext()
    }

    private func finish(_ worker: Worker) async {
        do {
            try await perform(worker)
        } catch let problem as Problem where problem.code == .unavailable {
            // Postgres is down or slow. Retrying one by one would only take longer.
            worker.fail(problem)
        } catch {
            let alone = worker.split()
            for worker in alone where alone.count > 1 { await finish(worker) }
            if alone.count == 1 { alone[0].fail(Self.problem(error)) }
        }
    }

    private static func problem(_ error: any Error) -> Problem {
        error as? Problem ?? Problem(.unavailable, "The request was cancelled. Send it again.")
    }

    /// Nil if the queue is empty or fewer workers suffice; the worker is then free.
    fileprivate func nextBatch(_ takesRest: Bool = false) -> [Waiting]? {
        guard let (batch, opensAnother) = state.withLock({ takeBatch(&$0, takesRest) }) else { return nil }
        if opensAnother { Task { await work(takesRest: true) } }
        metrics?.record(size: batch.count, wait: .now - batch[0].submitted)
        return batch
    }

    /// Whether another worker is free for the requests that the batch leaves in the queue.
    private func takeBatch(_ state: inout State, _ takesRest: Bool) -> (batch: [Waiting], opensAnother: Bool)? {
        guard !state.queue.isEmpty, takesRest || state.busyWorkers <= openWorkers(state) else {
            state.busyWorkers -= 1
            return nil
        }
        let count = min(share(state), largestBatch)
        let first = state.queue[0].request
        var batch = Array(state.queue[..<count])
        let rest = batch.filter { !mayShare(first, $0.request) }
        if !rest.isEmpty { batch.removeAll { !mayShare(first, $0.request) } }
        state.queue.replaceSubrange(..<count, with: rest)
        let opensAnother = !state.queue.isEmpty && state.busyWorkers < workers.upperBound
        if opensAnother { state.busyWorkers += 1 }
        return (batch, opensAnother)
    }
}

extension Batcher {
    /// One path to Postgres: its current batch, then the next ones.
    final class Worker: Sendable {
        /// Nil for a worker that ends after its batch.
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

        /// One answer per request, in order. `time` is how long Postgres took.
        func complete(_ results: [Result<Output, Problem>], after time: Duration) {
            batcher?.took(time, for: results.count)
            for (waiting, result) in zip(takeRequests(), results) { waiting.complete(result) }
        }

        /// Requests that waited too long fail.
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
    /// Nothing was done. The request may be sent again.
    static var overloaded: Problem { unavailable("Too many requests wait for Postgres. Send the same request again.") }
}

extension Batcher {
    /// Concurrent lookups share the next statement. Lookups of unknown names share it too, so invented names are cheap
    /// and do not delay others.
    static func lookups(
        _ units: UnitsOfWork,
        _ find: @escaping @Sendable (borrowing PostgresSession, [Request]) throws -> [Output]
    ) -> Batcher {
        Batcher(
            workers: 1...1,
            largestBatch: 256,
            timeout: units.pool.requestTimeout,
            perform: { worker in
                try await units.serve(worker, .reads, .idempotentRead) { session, names in
                    try find(session, names).map { .success($0) }
                }
            }
        )
    }
}
