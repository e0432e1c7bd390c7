import PostgresDriver
import RegistryCore
import RegistryRules

/// Drops tokens of one kind that are still stale under the locks.
struct Purge {
    let statements: StaleStatements
    let who: UTF8Text

    private var scope: Scope { statements.scope }

    private typealias PurgedValue = (value: TokenValue, claimedAt: Timestamp)

    func purge(_ tokens: [StaleToken], in transaction: borrowing PostgresTransaction) throws -> Int {
        statements.kind.holder == .activity
            ? try purgeActivities(tokens, transaction) : try purgeTokens(tokens, transaction)
    }

    private func purgeActivities(_ tokens: [StaleToken], _ transaction: borrowing PostgresTransaction) throws -> Int {
        let found: QueryValues = ["scope": scope.id, "ids": tokens.compactMap(\.activityID)]
        let locked = try transaction.run(.lockActivities, found).decode(Activity.self)
        let results = try transaction.pipeline([
            Query.lockValues(["scope": scope.id, "digests": locked.compactMap(\.token?.digest)]),
            statements.remaining(tokens.map(\.number)),
        ])
        let stale = Set(try results[1].decode(Int64.self))
        let activities = locked.filter { $0.key.map(stale.contains) ?? false }
        guard !activities.isEmpty else { return 0 }
        let purged = Self.values(of: activities, among: try results[0].decode(TokenValue.self))
        let values: QueryValues = [
            "positions": purged.map(\.value.position), "claimed_at": purged.map(\.claimedAt), "scope": scope.id,
        ]
        let changes =
            try withhold(purged, transaction) + [Query("purge.update-values")(values)]
            + activities.map { NewAuditEvent(.purged, of: $0, by: who) }.insertion(in: scope)
            + [Query("purge.update-activities")(["scope": scope.id, "ids": activities.map(\.id)])]
        return try transaction.pipeline(changes, finishing: true).last?.affectedRows ?? 0
    }

    private static func values(of activities: [Activity], among values: [TokenValue]) -> [PurgedValue] {
        let claims = Dictionary(activities.map { ($0.id, $0.token) }) { first, _ in first }
        return values.compactMap { value in
            guard let claim = value.owner.flatMap({ claims[$0.activityID] ?? nil }), claim.digest == value.digest else {
                return nil
            }
            return (value, claim.claimedAt)
        }
    }

    /// Withholds installations' tokens with a purged value, claimed at or before its death.
    private func withhold(_ purged: [PurgedValue], _ transaction: borrowing PostgresTransaction) throws -> [SQL] {
        let values = Dictionary(uniqueKeysWithValues: purged.map { ($0.value.digest, $0) })
        let shared = values.filter { $0.value.value.isOfInstallations }
        guard !shared.isEmpty else { return [] }
        let holders = try SlotHolders(transaction.pipeline(SlotHolders.lock(Set(shared.keys), in: scope)))
        let withheld = holders.slots.filter { slot in
            guard let token = slot.token, let purged = values[token.digest] else { return false }
            // A value owned by an installation is withheld only from that installation.
            guard slot.hasOneOwner || purged.value.installation == nil else { return false }
            return token.claimedAt <= max(purged.value.deadAt ?? purged.claimedAt, purged.claimedAt)
        }
        return events(about: withheld.filter { $0.withheld == nil }, of: holders.installations)
            + [Query("purge.withhold-tokens")(["scope": scope.id, "positions": withheld.map(\.position)])]
    }

    private func events(about slots: [InstallationToken], of installations: [Installation]) -> [SQL] {
        let byHash = Dictionary(installations.map { ($0.hash, $0) }) { first, _ in first }
        return slots.compactMap { slot in
            byHash[slot.id.installation].map { NewAuditEvent(.purged, of: slot, of: $0, by: who) }
        }.insertion(in: scope)
    }

    private func purgeTokens(_ tokens: [StaleToken], _ transaction: borrowing PostgresTransaction) throws -> Int {
        let results = try transaction.pipeline([
            Query.lockInstallations(["scope": scope.id, "hashes": Array(Set(tokens.compactMap(\.installation)))]),
            statements.remaining(tokens.map(\.number)),
        ])
        let stale = try results[1].decode(Int64.self)
        guard !stale.isEmpty else { return 0 }
        let named: QueryValues = ["scope": scope.id, "kind": statements.kind.name, "numbers": stale]
        let slots = try transaction.run("purge.lock-tokens", named).decode(InstallationToken.self)
        let purge = Query("purge.delete-tokens")(["scope": scope.id, "positions": slots.map(\.position)])
        let events = events(about: slots, of: try results[0].decode())
        return try transaction.pipeline(events + [purge], finishing: true).last?.affectedRows ?? 0
    }
}
