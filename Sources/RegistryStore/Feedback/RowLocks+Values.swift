import PostgresDriver
import RegistryCore
import RegistryRules

/// Locks for work on token values: also the activities that own the values, and the slots that have them.
extension RowLocks {
    mutating func add(_ found: [TokenValue]) {
        for value in found {
            digests.insert(value.digest)
            if let owner = value.owner { ids.insert(owner.activityID) }
            if value.isOfInstallations { sharedDigests.insert(value.digest) }
        }
    }

    /// - Throws: ``MissingLocks`` if a value's owner changed between search and lock; `unknownApp`.
    func lockValues(in scope: Scope, _ transaction: borrowing PostgresTransaction) throws -> LockedRows {
        let rows = try lockRows(in: scope, transaction)
        let values = rows.values.values.map(\.value)
        let missing = Set(values.compactMap(\.owner?.activityID)).subtracting(ids)
        let isComplete = values.allSatisfy { !$0.isOfInstallations || sharedDigests.contains($0.digest) }
        guard missing.isEmpty, isComplete else { throw MissingLocks(ids: missing) }
        return rows
    }
}
