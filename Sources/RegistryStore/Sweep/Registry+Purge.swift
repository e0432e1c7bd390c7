import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// - Parameters:
    ///   - numbers: the immutable numbers of the tokens, or of their activities.
    ///   - remaining: finds the numbers that are still stale under the locks.
    func purge(
        _ numbers: [Int64],
        of kind: TokenKind,
        remaining: SQL,
        in scope: Scope,
        by who: UTF8Text
    ) async throws -> Int {
        let purge = Purge(scope: scope, who: who)
        return try await write { session in
            try session.transaction { transaction in
                kind.holder == .activity
                    ? try purge.purgeActivities(numbers, remaining: remaining, transaction)
                    : try purge.purgeTokens(numbers, of: kind, remaining: remaining, transaction)
            }
        }
    }
}

private struct Purge {
    let scope: Scope
    let who: UTF8Text

    private var event: QueryValues { ["retention": scope.app.settings.eventRetention, "who": who] }

    private struct PurgedValue {
        let value: TokenValue
        let claimedAt: Timestamp
    }

    func purgeActivities(
        _ keys: [Int64],
        remaining: SQL,
        _ transaction: borrowing PostgresTransaction
    ) throws -> Int {
        let found = try transaction.run("purge.find-activities", ["scope": scope.id, "keys": keys])
            .decode(ActivityID.self)
        let locked = try transaction.run(.lockActivities, ["scope": scope.id, "ids": found]).decode(Activity.self)
        let digests = locked.compactMap(\.token?.digest.bytes)
        let results = try transaction.pipeline([
            Query.lockValues(["scope": scope.id, "digests": digests]), remaining,
        ])
        let stale = Set(try results[1].decode(Int64.self))
        let activities = locked.filter { $0.handle?.key.map(stale.contains) ?? false }
        guard !activities.isEmpty else { return 0 }
        let purged = Self.values(of: activities, among: try results[0].decode(TokenValue.self))
        let holders = try withholdHolders(of: purged, transaction)
        let ids: QueryValues = ["scope": scope.id, "ids": activities.map(\.id)]
        let values: QueryValues = [
            "positions": purged.map(\.value.handle?.position), "claimed_at": purged.map(\.claimedAt), "scope": scope.id,
        ]
        let changes = [
            Query("purge.update-values")(values), Query.insertActivityEvents(ids + event + ["type": "purged"]),
            Query.purgeActivities(ids),
        ]
        return try transaction.pipeline(holders + changes, finishing: true).last?.affectedRows ?? 0
    }

    private static func values(of activities: [Activity], among values: [TokenValue]) -> [PurgedValue] {
        let claims = Dictionary(activities.map { ($0.id, $0.token) }) { first, _ in first }
        return values.compactMap { value in
            guard let claim = value.owner.flatMap({ claims[$0.activityID] ?? nil }), claim.digest == value.digest else {
                return nil
            }
            return PurgedValue(value: value, claimedAt: claim.claimedAt)
        }
    }

    /// Withholds installations' tokens with a purged value, claimed at or before its death.
    private func withholdHolders(
        of purged: [PurgedValue],
        _ transaction: borrowing PostgresTransaction
    ) throws -> [SQL] {
        let values = Dictionary(uniqueKeysWithValues: purged.map { ($0.value.digest, $0) })
        let shared = values.filter { $0.value.value.isOfInstallations }
        guard !shared.isEmpty else { return [] }
        let slots = try SlotHolders(transaction.pipeline(SlotHolders.lock(Set(shared.keys), in: scope))).slots
        let withheld = slots.filter { slot in
            guard let token = slot.token, let purged = values[token.digest] else { return false }
            // A value owned by an installation is withheld only from that installation.
            guard slot.hasOneOwner || purged.value.installation == nil else { return false }
            return token.claimedAt <= max(purged.value.deadAt ?? purged.claimedAt, purged.claimedAt)
        }
        let deliverable = withheld.filter { $0.withheld == nil }
        return insertEvents(about: deliverable.compactMap(\.handle?.position))
            + [Query("purge.withhold-tokens")(["scope": scope.id, "positions": withheld.map(\.handle?.position)])]
    }

    private func insertEvents(about positions: [RowPosition]) -> [SQL] {
        positions.isEmpty
            ? [] : [Query("purge.insert-token-events")(["scope": scope.id, "positions": positions] + event)]
    }

    func purgeTokens(
        _ numbers: [Int64],
        of kind: TokenKind,
        remaining: SQL,
        _ transaction: borrowing PostgresTransaction
    ) throws -> Int {
        let tokens: QueryValues = ["scope": scope.id, "kind": kind.name]
        let hashes = try transaction.run("purge.find-installations", ["numbers": numbers] + tokens).decode([UInt8].self)
        let results = try transaction.pipeline([
            Query.lockInstallations(["scope": scope.id, "hashes": hashes]), remaining,
        ])
        let stale = try results[1].decode(Int64.self)
        guard !stale.isEmpty else { return 0 }
        let positions = try transaction.run("purge.lock-tokens", ["numbers": stale] + tokens).decode {
            try $0["row_position"] as RowPosition
        }
        let purge = Query.purgeTokens(["scope": scope.id, "positions": positions])
        return try transaction.pipeline(insertEvents(about: positions) + [purge], finishing: true).last?.affectedRows
            ?? 0
    }
}

extension Query {
    fileprivate static let purgeActivities: Query = "purge.update-activities"
    fileprivate static let purgeTokens: Query = "purge.delete-tokens"
}
