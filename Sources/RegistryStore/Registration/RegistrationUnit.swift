import PostgresDriver
import RegistryCore
import RegistryRules

struct RegistrationUnit {
    let requests: [RegistrationRequest]
    let scope: Scope

    /// - Parameter additionalIDs: activities to lock in addition to the requests' activities.
    /// - Throws: ``MissingLocks``, `unknownApp`.
    func mergeRequests(
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> [Result<RegistrationResult, Problem>] {
        var rows = try locks(adding: additionalIDs).lockRows(in: scope, transaction)
        let results = try merge(&rows, transaction)
        try rows.write(in: scope, transaction, isLast: true)
        return results
    }

    func locks(adding ids: Set<ActivityID>) -> RowLocks {
        RowLocks(
            ids: Set(requests.map(\.registration.id)).union(ids),
            digests: Set(requests.compactMap(\.registration.digest)),
            installations: Set(requests.compactMap(\.registration.body.installation))
        )
    }

    func merge(
        _ rows: inout LockedRows,
        _ transaction: borrowing PostgresTransaction
    ) throws -> [Result<RegistrationResult, Problem>] {
        let erasures =
            rows.hasErasures ? try Erasures(of: requests.map(\.registration), in: scope, transaction) : Erasures()
        return requests.enumerated().map { index, request in
            rows.merge(request.registration) { erasures.concern(index, observedAt: $0) }
        }
    }
}
