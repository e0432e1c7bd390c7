import PostgresDriver
import RegistryCore
import RegistryRules

struct RegistrationUnit {
    let registrations: [Registration]
    let scope: Scope

    /// - Parameter additionalIDs: activities to lock in addition to the registrations' activities.
    func mergeRegistrations(
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> [Result<RegistrationResult, Problem>] {
        var rows = try locks(adding: additionalIDs).lockRows(transaction)
        let results = try merge(&rows, transaction)
        try rows.write(in: scope, transaction)
        return results
    }

    func locks(adding ids: Set<ActivityID>) -> RowLocks {
        RowLocks(
            scope: scope,
            ids: Set(registrations.map(\.id)),
            owners: ids,
            digests: Set(registrations.compactMap(\.digest)),
            installations: Set(registrations.compactMap(\.body.installation))
        )
    }

    func merge(
        _ rows: inout LockedRows,
        _ transaction: borrowing PostgresTransaction
    ) throws -> [Result<RegistrationResult, Problem>] {
        let names = rows.hasErasures ? registrations.map(\.erasableNames) : []
        let erasures = rows.hasErasures ? try Erasures(of: names, in: scope, transaction) : Erasures()
        return registrations.enumerated().map { index, registration in
            rows.merge(registration) { erasures.concern(index, observedAt: $0) }
        }
    }
}
