import PostgresDriver
import RegistryCore
import RegistryRules

/// Locks for work on token values, in this order: the activities that own the values, the values, the token slots that
/// have them.
struct ValueLocks {
    private(set) var digests: Set<TokenDigest>
    private(set) var owners: Set<ActivityID>
    /// Values that tokens of installations may have.
    private var ofInstallations: Set<TokenDigest> = []
    var areForDeliveries = false

    init(digests: Set<TokenDigest> = [], owners: Set<ActivityID>) {
        self.digests = digests
        self.owners = owners
    }

    mutating func add(_ found: [TokenValue]) {
        for value in found {
            digests.insert(value.digest)
            if let owner = value.owner { owners.insert(owner.activityID) }
            if value.isOfInstallations { ofInstallations.insert(value.digest) }
        }
    }

    /// Locks the rows and then reads the time, in one round trip.
    ///
    /// - Throws: ``MissingLocks`` if a value's owner changed; `unknownApp`.
    func lockRows(in scope: Scope, _ transaction: borrowing PostgresTransaction) throws -> LockedRows {
        let lockOwners: Query = areForDeliveries ? "feedback.read-owners" : .lockActivities
        var statements = [
            lockOwners(["scope": scope.id, "ids": Array(owners)]),
            Query.lockValues(["scope": scope.id, "digests": Array(digests)]),
            Clock.read(in: scope),
        ]
        if !ofInstallations.isEmpty { statements += SlotHolders.lock(ofInstallations, in: scope) }
        let results = try transaction.pipeline(statements)
        let clock = try Clock(results[2])
        let owned =
            areForDeliveries ? try results[0].decode(Activity.init(delivered:)) : try results[0].decode(Activity.self)
        let values = try results[1].decode(TokenValue.self)
        try check(values)
        let holders = try SlotHolders(results.dropFirst(3))
        return LockedRows(
            now: clock.now,
            hasErasures: clock.hasErasures,
            lifetime: scope.app.settings.activityLifetime,
            lockedIDs: owners,
            activities: owned,
            values: values,
            times: [:],
            installations: InstallationRows(slots: holders.slots, others: holders.installations)
        )
    }

    /// The owners may have changed between search and lock.
    private func check(_ values: [TokenValue]) throws {
        let missing = Set(values.compactMap(\.owner?.activityID)).subtracting(owners)
        let isComplete = values.allSatisfy { !$0.isOfInstallations || ofInstallations.contains($0.digest) }
        guard missing.isEmpty, isComplete else { throw MissingLocks(ids: missing) }
    }
}
