import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Takes what an installation's tokens are found by (R6). A signed-in user takes the installation over.
    ///
    /// - Parameter claimant: by what right; a client names this same installation.
    /// - Throws: `superseded` when the installation logged out or another user registered it since, `clockSkew`.
    public func put(
        _ profile: InstallationProfile,
        for installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> InstallationAnswer {
        let statements = InstallationStatements(installation: installation, scope: scope, claimant: claimant)
        return try await write { session in
            let (observedAt, aliases) = (profile.observedAt, profile.aliases?.aliases ?? [])
            let results = try session.pipeline(
                [
                    statements.lock(observedAt: observedAt, aliases: aliases, registers: true),
                    statements.changeEvent("taken-over", by: who), statements.merge(profile),
                ] + statements.aliasRows + [statements.changeEvent(by: who)]
            )
            guard let merged = try results[2].decode(MergedProfile.columns).first else {
                let facts = statements.refusalFacts(observedAt: observedAt, aliases: aliases, registers: true)
                throw try Refusal(of: observedAt, session.execute(facts)[0]).problem
            }
            return try Self.answer(merged, to: installation, isNew: results[0][0].decode(Bool.self))
        }
    }

    private static func answer(
        _ merged: MergedProfile,
        to installation: InstallationHash,
        isNew: Bool
    ) throws -> InstallationAnswer {
        let isRemoved = merged.removedAt.map { merged.givenAt <= $0 } ?? false
        if isRemoved || merged.isOfAnother {
            let what = isRemoved ? "The installation logged out" : "Another user registered the installation"
            var problem = Problem(.superseded, "\(what) since. Say what holds now, with its time.")
            problem.serverTime = merged.serverTime
            throw problem
        }
        var answer = InstallationAnswer(installation: installation, isNew: isNew, observedAt: merged.givenAt)
        answer.aliasesObservedAt = merged.aliasesObservedAt
        answer.metadataObservedAt = merged.metadataObservedAt
        return answer
    }

    /// Logs an installation out: its start and device tokens, aliases and metadata are gone and its activities end,
    /// all that was observed by then. What was observed later stays. An unknown one leaves a tombstone.
    ///
    /// The first thousand activities end in the log-out's own transaction, all others a thousand a transaction after it. None
    /// of them is handed out once the log-out is written down.
    ///
    /// - Parameter claimant: by what right; a client names this same installation.
    /// - Throws: `clockSkew`, `notYours`.
    public func logOut(
        _ installation: InstallationHash,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let rows = InstallationStatements(installation: installation, scope: scope, claimant: claimant)
        let statements = LogOutStatements(rows: rows, who: who)
        guard var page = try await begin(statements, observedAt) else { return }
        while let number = page.next {
            page.next = try await write { [page] session in
                try session.transaction { transaction in
                    let found = statements.activities(at: page.time, after: number, limit: Self.logOutPageSize)
                    return try Self.end(transaction.execute(found), at: page.time, statements, transaction)
                }
            }
        }
    }

    private static let logOutPageSize = 1000

    /// When a log-out counts, and the number of the last activity that it ended so far; nil when there are no more.
    private struct LogOutPage: Sendable {
        let time: Date
        var next: Int64?
    }

    /// Writes the log-out down.
    ///
    /// - Returns: nil when the installation was erased, and so is gone as it is.
    private func begin(_ statements: LogOutStatements, _ observedAt: Date?) async throws -> LogOutPage? {
        let rows = statements.rows
        return try await write { session in
            try session.transaction { transaction in
                let locked = try transaction.pipeline([
                    rows.lock(observedAt: observedAt), statements.time(observedAt),
                    rows.refusalFacts(observedAt: observedAt),
                ])
                guard !locked[0].isEmpty else {
                    let refusal = try Refusal(of: observedAt, locked[2][0])
                    if case .erased = refusal { return nil }
                    throw refusal.problem
                }
                let time = try locked[1][0].decode(Date.self)
                let found = statements.activities(at: time, after: 0, limit: Self.logOutPageSize)
                let results = try transaction.pipeline([found] + statements.removal(at: time))
                return LogOutPage(time: time, next: try Self.end(results[0], at: time, statements, transaction))
            }
        }
    }

    /// Ends a page of activities, and finishes the transaction.
    ///
    /// - Returns: the number of the last one, nil when the page was not full.
    private static func end(
        _ found: PostgresResult,
        at time: Date,
        _ statements: LogOutStatements,
        _ transaction: borrowing PostgresTransaction
    ) throws -> Int64? {
        let activities = try found.decode(ActivityID.self, Int64.self)
        let ends = EndStatements(scope: statements.rows.scope, who: statements.who)
            .end(activities.map(\.0), reason: .ended, observedAt: time)
        _ = try transaction.pipeline(activities.isEmpty ? [] : ends, finishing: true)
        return activities.count < logOutPageSize ? nil : activities.map(\.1).max()
    }

    /// An installation's record, or nil when it is not known.
    public func installation(_ installation: InstallationHash, in scope: Scope) async throws -> InstallationRecord? {
        let statements = InstallationStatements(installation: installation, scope: scope)
        return try await read { session in
            let results = try session.pipeline([statements.record, statements.tokens])
            var record = try results[0].decode(InstallationRecord.columns).first
            record?.tokens = try results[1].decode(InstallationRecord.Token.columns)
            return record
        }
    }
}
