import RegistryStore

/// The rest of a call after its checks: the store's work and its answer, whose body is whole.
struct DeferredAnswer: Sendable {
    typealias MakeAnswer = @Sendable () -> Result<WholeAnswer, any Error>
    /// Called once, on any thread. It is often a connection's, so the answer is made elsewhere.
    typealias Completion = @Sendable (@escaping MakeAnswer) -> Void

    private let work: @Sendable (_ executor: (any TaskExecutor)?, _ complete: @escaping Completion) -> Void

    /// For work without a task.
    ///
    /// - Parameter work: starts it; a nil executor is Swift's own pool.
    init(_ work: @escaping @Sendable (_ executor: (any TaskExecutor)?, _ complete: @escaping Completion) -> Void) {
        self.work = work
    }

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

    func begin(on executor: (any TaskExecutor)?, complete: @escaping Completion) { work(executor, complete) }

    var answer: WholeAnswer {
        get async throws {
            let make = await withCheckedContinuation { continuation in
                work(nil) { continuation.resume(returning: $0) }
            }
            return try make().get()
        }
    }
}
