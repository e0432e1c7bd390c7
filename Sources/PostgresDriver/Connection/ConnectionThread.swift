import Foundation

/// Runs a connection actor's jobs on a dedicated thread, so that libpq may block.
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

/// The waiting jobs. The thread holds only the queue, so the executor can be released and the thread ends.
private final class JobQueue: @unchecked Sendable {
    // Guarded by `condition`.
    private var jobs: [(job: UnownedJob, executor: ConnectionThread)] = []
    private var isStopped = false
    private let condition = NSCondition()

    func append(_ job: UnownedJob, on executor: ConnectionThread) {
        condition.withLock { jobs.append((job, executor)) }
        // After the unlock, because the thread would otherwise wake up and wait for the lock.
        condition.signal()
    }

    func stop() {
        condition.withLock { isStopped = true }
        condition.signal()
    }

    func run() {
        Self.blockBrokenPipeSignal()
        // Each entry retains its executor until the job is done; the last release may happen here.
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

    /// SIGPIPE would end the program. With the signal blocked, a write to a closed socket returns EPIPE.
    private static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
