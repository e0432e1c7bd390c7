import RegistryStore

/// What is left of a call once everything that can be refused at once has been: the store's work and the answer made of it.
struct DeferredAnswer: Sendable {
    /// Makes the answer of what came of the work.
    typealias Making = @Sendable () -> Result<Answer, any Error>
    /// Told how the answer is made, once, on any thread. That is often Postgres's: the answer is made elsewhere.
    typealias Completion = @Sendable (@escaping Making) -> Void

    private let work: @Sendable (_ thread: CallersThread, _ complete: @escaping Completion) -> Void

    /// Work for which nobody need wait in a task.
    ///
    /// - Parameter work: begins it, on the thread that it is told.
    init(_ work: @escaping @Sendable (_ thread: CallersThread, _ complete: @escaping Completion) -> Void) {
        self.work = work
    }

    /// Work that is a task of its own.
    init(_ operation: @escaping @Sendable () async throws -> Answer) {
        work = { thread, complete in
            Task(executorPreference: thread.executor) {
                do {
                    let answer = try await operation()
                    complete { .success(answer) }
                } catch {
                    complete { .failure(error) }
                }
            }
        }
    }

    /// Begins the work.
    func begin(on thread: CallersThread, complete: @escaping Completion) { work(thread, complete) }

    /// Does the work, and waits for it.
    var answer: Answer {
        get async throws {
            let make = await withCheckedContinuation { continuation in
                work(.any) { continuation.resume(returning: $0) }
            }
            return try make().get()
        }
    }
}
