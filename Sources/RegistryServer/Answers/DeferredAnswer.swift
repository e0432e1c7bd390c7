import RegistryStore

/// The rest of a call once everything that can be refused at once has been: the store's work and the answer made of it,
/// whose body is whole.
struct DeferredAnswer: Sendable {
    /// Makes the answer of what came of the work.
    typealias MakeAnswer = @Sendable () -> Result<WholeAnswer, any Error>
    /// Called once with the way to make the answer, on any thread. That is often Postgres's, so the answer is made elsewhere.
    typealias Completion = @Sendable (@escaping MakeAnswer) -> Void

    private let work: @Sendable (_ executor: (any TaskExecutor)?, _ complete: @escaping Completion) -> Void

    /// Work for which nobody need wait in a task.
    ///
    /// - Parameter work: begins it; the executor runs what goes on between waits, and nil is Swift's own pool.
    init(_ work: @escaping @Sendable (_ executor: (any TaskExecutor)?, _ complete: @escaping Completion) -> Void) {
        self.work = work
    }

    /// Work that is a task of its own.
    init(_ operation: @escaping @Sendable () async throws -> WholeAnswer) {
        work = { executor, complete in
            Task(executorPreference: executor) {
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
    func begin(on executor: (any TaskExecutor)?, complete: @escaping Completion) { work(executor, complete) }

    /// Does the work, and waits for it.
    var answer: WholeAnswer {
        get async throws {
            let make = await withCheckedContinuation { continuation in
                work(nil) { continuation.resume(returning: $0) }
            }
            return try make().get()
        }
    }
}
