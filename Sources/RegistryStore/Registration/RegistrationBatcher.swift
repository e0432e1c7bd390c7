import PostgresDriver
import RegistryCore

extension Batcher<RegistrationRequest, RegistrationResult> {
    /// Registrations of one scope share a transaction, in order of arrival.
    static func registrations(_ units: UnitsOfWork) -> Batcher {
        Batcher(
            workers: 2...2,
            largestBatch: 128,
            capacity: 10_000,
            timeout: units.pool.requestTimeout,
            metrics: units.metrics.batches[.registrations],
            select: { candidates in
                guard let first = candidates.first else { return [] }
                return candidates.map { $0.scope.id == first.scope.id }
            },
            perform: { worker in
                try await units.serve(worker, .registrations, .ifSafe) { session, requests in
                    let unit = RegistrationUnit(requests: requests, scope: requests[0].scope)
                    return try session.transaction { try unit.mergeRequests(in: $0, locking: $1) }
                }
            }
        )
    }
}
