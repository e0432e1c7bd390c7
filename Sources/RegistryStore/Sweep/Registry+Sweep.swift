import Foundation
import PostgresDriver
import RegistryCore

package enum SweepTask: String, Sendable, Hashable, CaseIterable {
    /// Records the expiry of activities, with their audit event.
    case expiry
    /// Ended and expired activities past their retention.
    case tombstones
    /// Token values without a holder: deaths of unregistered values, and former values of installations.
    case values
    /// Identities known only by an alias, past their retention.
    case identities
    /// Start and device tokens that were deleted, past their retention.
    case removals
    /// Empty installations that were silent for long.
    case installations
    /// Start leases whose attempts are more than a day old.
    case leases
}

package struct OverdueExpiry: Sendable, Hashable {
    /// No more than ``countLimit``.
    package let count: Int
    /// The time since the first of them expired, by Postgres's clock.
    package let age: Duration

    /// As far as they are counted.
    package static let countLimit = 10_000
}

extension Registry {
    /// Expired activities without a recorded expiry; nil if there are none.
    package func overdueExpiry(in scope: Scope) async throws -> OverdueExpiry? {
        let statement = SweepStatements(scope: scope).overdue(limit: OverdueExpiry.countLimit)
        return try await read { session in
            let (count, first, now) = try session.execute(statement)[0].decode(Int.self, Date?.self, Date.self)
            return first.map { OverdueExpiry(count: count, age: .seconds(now.timeIntervalSince($0))) }
        }
    }

    /// Runs a page of a task, one small transaction.
    ///
    /// - Returns: the number of rows done; fewer than `limit` if there are no more, or others have them locked.
    package func sweep(_ task: SweepTask, limit: Int, in scope: Scope) async throws -> Int {
        let statements = SweepStatements(scope: scope)
        let installations = InstallationSweepStatements(scope: scope)
        return try await write { session in
            switch task {
            case .expiry:
                try Self.sweep(statements.expired(limit: limit), session, consequences: statements.recordExpiry)
            case .tombstones: try Self.sweepTombstones(statements, limit, session)
            case .values:
                try max(
                    session.execute(statements.deleteUnclaimedValues(limit: limit)).affectedRows,
                    session.execute(installations.deleteUnheldValues(limit: limit))[0].decode(Int.self)
                )
            case .identities: try Self.sweepIdentities(statements, limit, session)
            case .removals: try session.execute(installations.deleteRemovedTokens(limit: limit)).affectedRows
            case .installations:
                try Self.sweep(
                    installations.emptyInstallations(from: (0..<32).map { _ in .random(in: 0...255) }, limit: limit),
                    session,
                    consequences: installations.delete
                )
            case .leases: try session.execute(LeaseStatements.sweep(limit: limit, in: scope)).affectedRows
            }
        }
    }

    private static func sweep<Key: PostgresDecodable & Sendable>(
        _ search: SQL,
        _ session: borrowing PostgresSession,
        consequences: @escaping @Sendable ([Key]) -> [SQL]
    ) throws -> Int {
        try session.transaction { transaction in
            let ids = try transaction.execute(search).decode(Key.self)
            _ = try transaction.pipeline(ids.isEmpty ? [] : consequences(ids), finishing: true)
            return ids.count
        }
    }

    private static func sweepTombstones(
        _ statements: SweepStatements,
        _ limit: Int,
        _ session: borrowing PostgresSession
    ) throws -> Int {
        try session.transaction { transaction in
            let ids = try transaction.execute(statements.tombstones(limit: limit)).decode(ActivityID.self)
            // The remaining activities go with the next page.
            return try statements.delete(ids, [], transaction) ? ids.count : limit
        }
    }

    private static func sweepIdentities(
        _ statements: SweepStatements,
        _ limit: Int,
        _ session: borrowing PostgresSession
    ) throws -> Int {
        try session.transaction { transaction in
            let search = statements.staleIdentities(limit: limit)
            let identities = try transaction.execute(search).decode(UTF8Text.self, UTF8Text.self)
            let deletions = identities.isEmpty ? [] : [statements.deleteIdentities(identities)]
            _ = try transaction.pipeline(deletions, finishing: true)
            return identities.count
        }
    }
}

extension SweepStatements {
    /// Deletes locked activities with all of their rows, as far as one transaction may, and finishes it.
    ///
    /// - Parameter first: statements that accompany the deletion of the activities themselves.
    /// - Returns: whether they are gone; if not, a part of their values is.
    func delete(_ ids: [ActivityID], _ first: [SQL], _ transaction: borrowing PostgresTransaction) throws -> Bool {
        guard !ids.isEmpty else {
            _ = try transaction.pipeline([], finishing: true)
            return true
        }
        let values = try transaction.execute(deleteValues(of: ids))[0].decode(Int.self)
        let isLast = values < Self.tokenPageSize
        _ = try transaction.pipeline(isLast ? first + delete(ids) : [], finishing: true)
        return isLast
    }
}
