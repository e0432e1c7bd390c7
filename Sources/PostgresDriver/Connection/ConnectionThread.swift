import Foundation

/// Runs the jobs of one connection's actor on a thread of its own, so that libpq may block it.
final class ConnectionThread: SerialExecutor {
    private let queue = JobQueue()

    init() {
        let thread = Thread { [queue] in queue.run() }
        thread.name = "postgres"
        thread.start()
    }

    deinit {
        queue.stop()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        queue.append(UnownedJob(job), on: self)
    }
}

/// The jobs that wait for the thread. The thread holds the queue only, so that it can outlive its executor and end.
private final class JobQueue: @unchecked Sendable {
    // Guarded by the condition.
    private var jobs: [(job: UnownedJob, executor: ConnectionThread)] = []
    private var isStopped = false
    private let condition = NSCondition()

    func append(_ job: UnownedJob, on executor: ConnectionThread) {
        condition.withLock { jobs.append((job, executor)) }
        // After the unlock: the thread would otherwise wake and wait for the lock.
        condition.signal()
    }

    func stop() {
        condition.withLock { isStopped = true }
        condition.signal()
    }

    func run() {
        Self.blockBrokenPipeSignal()
        // Each entry keeps the executor alive until its job is over; the last one may release it here.
        while let (job, executor) = next() {
            job.runSynchronously(on: executor.asUnownedSerialExecutor())
        }
    }

    private func next() -> (job: UnownedJob, executor: ConnectionThread)? {
        condition.withLock {
            while jobs.isEmpty && !isStopped { condition.wait() }
            return jobs.isEmpty ? nil : jobs.removeFirst()
        }
    }

    /// A write to a closed socket returns EPIPE; the signal would end the program.
    private static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
