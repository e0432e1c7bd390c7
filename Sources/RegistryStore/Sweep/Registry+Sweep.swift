import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

package enum SweepTask: String, Sendable, Hashable, CaseIterable {
    case expiry
    case tombstones
    /// Token values without a holder: deaths of unregistered values, and former values of installations.
    case values
    /// Identities of name-only activities, past their retention.
    case identities
    /// Deleted start and device tokens, past their retention.
    case removals
    /// Empty installations without requests for a long time.
    case installations
    /// Start leases with all attempts more than a day old.
    case leases
}

package struct OverdueExpiry: Sendable, Hashable {
    package let count: Int
    /// The time since the first expiry, by Postgres's clock.
    package let age: Duration

    package static let countLimit = 10_000
}

extension Registry {
    /// Expired activities without a recorded expiry; nil if none.
    package func overdueExpiry(in scope: Scope) async throws -> OverdueExpiry? {
        try await read { session in
            let limit = OverdueExpiry.countLimit
            return try session.run("sweep.count-overdue", ["scope": scope.id, "limit": limit]).decode { row in
                try (row["age"] as Duration?).map { OverdueExpiry(count: try row["count"], age: $0) }
            }[0]
        }
    }

    /// - Returns: the number of rows done; fewer than `limit` if the rest is done or locked.
    package func sweep(_ task: SweepTask, limit: Int, in scope: Scope) async throws -> Int {
        let settings = scope.app.settings
        let page: QueryValues = ["scope": scope.id, "limit": limit]
        let old = page + ["retention": settings.tombstoneRetention]
        let silent =
            page + ["event_retention": settings.eventRetention, "tombstone_retention": settings.tombstoneRetention]
        return try await write { session in
            switch task {
            case .expiry: try Self.sweepExpiry(page, scope, session)
            case .tombstones: try Self.sweepTombstones(old, limit: limit, scope, session)
            case .values:
                try max(
                    session.run("sweep.delete-unclaimed-values", old).affectedRows,
                    session.run("sweep.delete-unheld-values", silent).readCount()
                )
            case .identities:
                try session.run("sweep.delete-identities", old + ["lifetime": settings.activityLifetime]).affectedRows
            case .removals: try session.run("sweep.delete-removed-tokens", old).affectedRows
            case .installations: try Self.sweepInstallations(silent, scope, session)
            case .leases: try session.run("sweep.delete-leases", page).affectedRows
            }
        }
    }

    /// After this, resolve no longer reads the activities' aliases.
    private static func sweepExpiry(
        _ page: QueryValues,
        _ scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> Int {
        try session.transaction { transaction in
            let expired = try transaction.run("sweep.lock-expired", page).decode(Activity.self)
            let changes =
                [Query("sweep.record-expiry")(["scope": scope.id, "ids": expired.map(\.id)])]
                + expired.deletionOfAliases(areClosed: true, in: scope)
                + expired.map { NewAuditEvent(.expired, of: $0, by: "sweep") }.insertion(in: scope)
            _ = try transaction.pipeline(expired.isEmpty ? [] : changes, finishing: true)
            return expired.count
        }
    }

    private static func sweepTombstones(
        _ page: QueryValues,
        limit: Int,
        _ scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> Int {
        try session.transaction { transaction in
            let tombstones = try transaction.run("sweep.lock-tombstones", page).decode(Activity.self)
            guard !tombstones.isEmpty else { return 0 }
            let values = try transaction.execute(deleteValues(of: tombstones.map(\.id), in: scope)).readCount()
            let isLast = values < tokenPageSize
            _ = try transaction.pipeline(isLast ? delete(tombstones, in: scope) : [], finishing: true)
            // The next page deletes the remaining activities.
            return isLast ? tombstones.count : limit
        }
    }

    /// Begins at a random hash.
    private static func sweepInstallations(
        _ page: QueryValues,
        _ scope: Scope,
        _ session: borrowing PostgresSession
    ) throws -> Int {
        try session.transaction { transaction in
            let start = (0..<32).map { _ in UInt8.random(in: 0...255) }
            let empty = try transaction.run("sweep.lock-empty-installations", page + ["start": start])
            let hashes = try empty.decode(InstallationHash.self)
            let deletions = hashes.isEmpty ? [] : deleteInstallations(hashes, in: scope)
            _ = try transaction.pipeline(deletions, finishing: true)
            return hashes.count
        }
    }
}

/// The deletion of locked rows, shared with erasures.
extension Registry {
    /// Values per transaction. An activity with a million rotations is deleted in many transactions.
    static let tokenPageSize = 10_000

    static func deleteValues(of ids: [ActivityID], in scope: Scope) -> SQL {
        Query("sweep.delete-values")(["scope": scope.id, "limit": tokenPageSize, "ids": ids])
    }

    /// Deletes locked activities without values.
    static func delete(_ activities: [Activity], in scope: Scope) -> [SQL] {
        activities.deletionOfAliases(in: scope)
            + [Query("sweep.delete-activities")(["scope": scope.id, "ids": activities.map(\.id)])]
    }

    /// Deletes locked installations without tokens.
    static func deleteInstallations(_ hashes: [InstallationHash], in scope: Scope) -> [SQL] {
        let installations: QueryValues = ["scope": scope.id, "hashes": hashes]
        return [
            Query("sweep.delete-installation-aliases")(installations),
            Query("sweep.delete-installations")(installations),
        ]
    }
}

extension PostgresResult {
    func readCount() throws -> Int { try decode { try $0["count"] as Int }[0] }
}
