import PostgresDriver
import RegistryCore

extension Batcher {
    /// Concurrent lookups share the next statement. Lookups of unknown names share it too, so invented names are cheap
    /// and do not delay others.
    ///
    /// - Parameter find: finds an answer for each name, in order.
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
