import PostgresDriver
import RegistryCore
import RegistryRules

/// The unit of work of registrations of one scope: it locks their rows, decides by `RegistryRules`, and writes the changed rows.
struct RegistrationUnit {
    let requests: [RegistrationRequest]
    let scope: Scope

    /// - Parameter additionalIDs: activities to lock besides those of the requests.
    /// - Returns: a result for each request, in order.
    /// - Throws: ``MissingLocks``, `unknownApp`.
    func run(
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> [Result<RegistrationAnswer, Problem>] {
        let (rows, results) = try decide(in: transaction, locking: additionalIDs)
        try rows.write(in: scope, transaction, isLast: true)
        return results
    }

    /// Locks the rows and decides, for a caller that adds its own decisions.
    func decide(
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> (rows: LockedRows, results: [Result<RegistrationAnswer, Problem>]) {
        let locks = RowLocks(
            ids: Set(requests.map(\.registration.id)).union(additionalIDs),
            digests: Set(requests.compactMap(\.registration.digest)),
            installations: Set(requests.compactMap(\.registration.body.installation))
        )
        var rows = try locks.take(in: scope, transaction)
        let erasures =
            rows.hasErasures ? try Erasures(of: requests.map(\.registration), in: scope, transaction) : Erasures()
        let results = requests.enumerated().map { index, request in
            rows.answer(request.registration) { erasures.concern(index, observedAt: $0) }
        }
        return (rows, results)
    }
}
