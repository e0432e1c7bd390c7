import Foundation
import PostgresDriver
import RegistryCore

/// What a sweep writes down or deletes.
public enum SweepTask: String, Sendable, Hashable, CaseIterable {
    /// Expired activities: that they expired, with their audit event.
    case expiry
    /// Ended and expired activities past their retention.
    case tombstones
    /// Deaths of token values that nobody registered.
    case values
    /// Identities of apps that know only an alias, past their retention.
    case identities
    /// Start and device tokens that were deleted, past their retention.
    case removals
    /// Claims of start and device tokens that are too old to tell of a cloned installation, with values nobody holds.
    case claims
    /// Installations that hold nothing and that nobody has heard of for long.
    case installations
}

/// What expired and waits for a sweep to write it down.
public struct OverdueExpiry: Sendable, Hashable {
    /// No more than ``countLimit``.
    public let count: Int
    /// How long ago the first of them expired, by Postgres's clock.
    public let age: Duration

    /// As far as they are counted.
    public static let countLimit = 10_000
}

extension Registry {
    /// What expired and no sweep has written down; nil when there is nothing.
    public func overdueExpiry(in scope: Scope) async throws -> OverdueExpiry? {
        let statement = SweepStatements(scope: scope).overdue(limit: OverdueExpiry.countLimit)
        return try await read { session in
            let (count, first, now) = try session.execute(statement)[0].decode(Int.self, Date?.self, Date.self)
            return first.map { OverdueExpiry(count: count, age: .seconds(now.timeIntervalSince($0))) }
        }
    }

    /// Does a page of a task, one small transaction.
    ///
    /// - Returns: how many rows it did; fewer than `limit` when there are no more, or others have them locked.
    public func sweep(_ task: SweepTask, limit: Int, in scope: Scope) async throws -> Int {
        let statements = SweepStatements(scope: scope)
        let installations = InstallationSweepStatements(scope: scope)
        return try await write { session in
            switch task {
            case .expiry:
                try Self.sweep(statements.expired(limit: limit), session, consequences: statements.recordExpiry)
            case .tombstones:
                try Self.sweep(statements.tombstones(limit: limit), session, consequences: statements.delete)
            case .values: try session.execute(statements.forgetUnclaimedValues(limit: limit)).affectedRows
            case .identities: try Self.sweepIdentities(statements, limit, session)
            case .removals:
                try [("start_tokens", "attributes_type"), ("device_tokens", "kind")].map { slot, key in
                    try session.execute(installations.deleteRemovedTokens(from: slot, key: key, limit: limit))
                        .affectedRows
                }.max() ?? 0
            case .claims:
                try Self.sweep(installations.deleteOldClaims(limit: limit), session) { (digests: [[UInt8]]) in
                    [installations.deleteUnheldValues(digests)]
                }
            case .installations:
                try Self.sweep(
                    installations.emptyInstallations(limit: limit),
                    session,
                    consequences: installations.delete
                )
            }
        }
    }

    /// Locks what a statement finds, and lets the consequences follow in the same transaction.
    private static func sweep<Key: PostgresDecodable & Sendable>(
        _ search: SQL,
        _ session: borrowing PostgresSession,
        consequences: @escaping @Sendable ([Key]) -> [SQL]
    ) throws -> Int {
        try session.transaction { transaction in
            let ids = try transaction.execute(search).rows.map { try $0.column(0, as: Key.self) }
            _ = try transaction.pipeline(ids.isEmpty ? [] : consequences(ids), finishing: true)
            return ids.count
        }
    }

    private static func sweepIdentities(
        _ statements: SweepStatements,
        _ limit: Int,
        _ session: borrowing PostgresSession
    ) throws -> Int {
        try session.transaction { transaction in
            let found = try transaction.execute(statements.staleIdentities(limit: limit)).rows
            let identities = try found.map { try $0.decode(String.self, String.self) }
            let deletions = identities.isEmpty ? [] : statements.deleteIdentities(identities)
            _ = try transaction.pipeline(deletions, finishing: true)
            return identities.count
        }
    }
}
