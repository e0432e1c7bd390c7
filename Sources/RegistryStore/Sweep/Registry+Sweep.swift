import PostgresDriver
import RegistryCore
import RegistryRules

package enum SweepTask: String, Sendable, Hashable, CaseIterable {
    case expiry
    case tombstones
    /// Token values without a holder: deaths of unregistered values, and former values of installations.
    case values
    case identities
    case removals
    /// Empty installations without requests for a long time.
    case installations
    /// Start leases with all attempts more than a day old.
    case leases
}

package struct SweepPage: Sendable, Hashable {
    /// Rows done; fewer than the limit if the rest is done or locked.
    package let count: Int
    /// The first expiry of the page's activities. The next page starts here. If an old snapshot keeps the rows of earlier
    /// pages, it need not read them again.
    package let start: Timestamp?
}

package struct OverdueExpiry: Sendable, Hashable {
    package let count: Int
    /// The time since the first expiry, by Postgres's clock.
    package let age: Duration

    package static let countLimit = 10_000
}

extension Registry {
    /// Values per transaction. An activity with a million rotations is deleted in many transactions.
    static let tokenPageSize = 10_000

    /// Expired activities without a recorded expiry; nil if none.
    package func overdueExpiry(in scope: Scope) async throws -> OverdueExpiry? {
        try await read { session in
            let overdue = Query.countOverdue(in: scope.id, limit: OverdueExpiry.countLimit)
            return try session.execute(overdue).decode { row in
                try (row["age"] as Duration?).map { OverdueExpiry(count: try row["count"], age: $0) }
            }[0]
        }
    }

    /// - Parameter start: the ``SweepPage/start`` of the page before; nil for the first page.
    package func sweep(_ task: SweepTask, limit: Int, from start: Timestamp? = nil, in scope: Scope) async throws
        -> SweepPage
    {
        let settings = scope.app.settings
        let page: QueryValues = ["scope": scope.id, "limit": limit]
        let old = page + ["retention": settings.tombstoneRetention]
        let silent =
            page + ["event_retention": settings.eventRetention, "tombstone_retention": settings.tombstoneRetention]
        return try await write { session in
            var start = start
            let count =
                switch task {
                case .expiry: try scope.sweepExpiry(page, from: &start, session)
                case .tombstones: try scope.sweepTombstones(old, from: &start, limit: limit, session)
                case .values:
                    try max(
                        session.run("sweep.delete-unclaimed-values", old).affectedRows,
                        session.run("sweep.delete-unheld-values", silent).readCount()
                    )
                case .identities:
                    try session.run("sweep.delete-identities", old + ["lifetime": settings.activityLifetime])
                        .affectedRows
                case .removals: try session.run("sweep.delete-removed-tokens", old).affectedRows
                case .installations: try scope.sweepInstallations(silent, session)
                case .leases: try session.run("sweep.delete-leases", page).affectedRows
                }
            return SweepPage(count: count, start: start)
        }
    }
}

extension Scope {
    /// After this, resolve no longer reads the activities' aliases.
    fileprivate func sweepExpiry(
        _ page: QueryValues,
        from start: inout Timestamp?,
        _ session: borrowing PostgresSession
    ) throws -> Int {
        try session.transaction { transaction in
            let expired = try transaction.run("sweep.lock-expired", page + ["start": start]).decode(Activity.self)
            start = expired.first?.expiresAt
            let changes =
                [Query("sweep.record-expiry")(["scope": id, "ids": expired.map(\.id)])]
                + expired.deletionOfAliases(areClosed: true, in: self)
                + expired.map { NewAuditEvent(.expired, of: $0, by: "sweep") }.insertion(in: self)
            _ = try transaction.pipeline(expired.isEmpty ? [] : changes, finishing: true)
            return expired.count
        }
    }

    fileprivate func sweepTombstones(
        _ page: QueryValues,
        from start: inout Timestamp?,
        limit: Int,
        _ session: borrowing PostgresSession
    ) throws -> Int {
        try session.transaction { transaction in
            let tombstones = try transaction.run("sweep.lock-tombstones", page + ["start": start]).decode(Activity.self)
            start = tombstones.first?.expiresAt
            guard !tombstones.isEmpty else { return 0 }
            let values = try transaction.execute(deleteValues(of: tombstones.map(\.id))).readCount()
            let isLast = values < Registry.tokenPageSize
            _ = try transaction.pipeline(isLast ? delete(tombstones) : [], finishing: true)
            // The next page deletes the remaining activities.
            return isLast ? tombstones.count : limit
        }
    }

    /// Begins at a random hash.
    fileprivate func sweepInstallations(_ page: QueryValues, _ session: borrowing PostgresSession) throws -> Int {
        try session.transaction { transaction in
            let start = (0..<32).map { _ in UInt8.random(in: 0...255) }
            let empty = try transaction.run("sweep.lock-empty-installations", page + ["start": start])
            let hashes = try empty.decode(InstallationHash.self)
            let deletions = hashes.isEmpty ? [] : deleteInstallations(hashes)
            _ = try transaction.pipeline(deletions, finishing: true)
            return hashes.count
        }
    }
}

extension Query {
    /// - Parameter start: the first expiry to count; nil for the one that the latest count found.
    static func countOverdue(in scope: Int64, from start: Timestamp? = nil, limit: Int = 1) -> SQL {
        Query("sweep.count-overdue")(["scope": scope, "start": start, "limit": limit])
    }
}

/// The deletion of locked rows, shared with erasures.
extension Scope {
    func deleteValues(of ids: [ActivityID]) -> SQL {
        Query("sweep.delete-values")(["scope": id, "limit": Registry.tokenPageSize, "ids": ids])
    }

    func delete(_ activities: [Activity]) -> [SQL] {
        activities.deletionOfAliases(in: self)
            + [Query("sweep.delete-activities")(["scope": id, "ids": activities.map(\.id)])]
    }

    func deleteInstallations(_ hashes: [InstallationHash]) -> [SQL] {
        ["sweep.delete-installation-aliases", "sweep.delete-installations"].map { (delete: Query) in
            delete(["scope": id, "hashes": hashes])
        }
    }
}

extension PostgresResult { func readCount() throws -> Int { try decode { try $0["count"] as Int }[0] } }
