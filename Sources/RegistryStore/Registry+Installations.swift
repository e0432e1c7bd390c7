import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Takes what an installation's tokens are found by (R6).
    ///
    /// - Throws: `superseded` when the installation logged out since, `clockSkew`.
    public func put(
        _ profile: InstallationProfile,
        for installation: InstallationHash,
        in scope: Scope,
        by who: String
    ) async throws -> InstallationAnswer {
        let statements = InstallationStatements(installation: installation, scope: scope)
        return try await write { session in
            let observedAt = profile.observedAt
            let results = try session.pipeline(
                [
                    statements.lock(observedAt: observedAt, aliases: profile.aliases?.aliases ?? []),
                    statements.merge(profile),
                ] + statements.aliasRows
                    + [statements.changeEvent(observedAt: observedAt, by: who), Refusal.facts(in: scope)]
            )
            guard let row = results[1].rows.first else {
                throw try Refusal(of: observedAt, results[5][0]).problem
            }
            return try Self.answer(row, to: installation, isNew: results[0][0].column(0, as: Bool.self))
        }
    }

    private static func answer(
        _ row: PostgresRow,
        to installation: InstallationHash,
        isNew: Bool
    ) throws -> InstallationAnswer {
        let (givenAt, aliasesAt, metadataAt, removedAt, serverTime) = try row.decode(
            Date.self,
            Date?.self,
            Date?.self,
            Date?.self,
            Date.self
        )
        if let removedAt, givenAt <= removedAt {
            let detail = "The installation logged out since. Say what holds now, with its time."
            var problem = Problem(.superseded, detail)
            problem.serverTime = serverTime
            throw problem
        }
        var answer = InstallationAnswer(installation: installation, isNew: isNew, observedAt: givenAt)
        answer.aliasesObservedAt = aliasesAt
        answer.metadataObservedAt = metadataAt
        return answer
    }

    /// Logs an installation out: its start and device tokens, aliases and metadata are gone and its activities end,
    /// all that was observed by then. What was observed later stays. An unknown one leaves a tombstone.
    ///
    /// - Throws: `clockSkew`.
    public func logOut(
        _ installation: InstallationHash,
        observedAt: Date?,
        in scope: Scope,
        by who: String
    ) async throws {
        let statements = LogOutStatements(installation: installation, scope: scope, who: who)
        let lock = InstallationStatements(installation: installation, scope: scope).lock(observedAt: observedAt)
        try await write { session in
            try session.transaction { transaction in
                let locked = try transaction.pipeline([lock, statements.time(observedAt), Refusal.facts(in: scope)])
                guard !locked[0].isEmpty else {
                    let refusal = try Refusal(of: observedAt, locked[2][0])
                    // What was erased is gone as it is.
                    if case .erased = refusal { return }
                    throw refusal.problem
                }
                let time = try locked[1][0].column(0, as: Date.self)
                let results = try transaction.pipeline([statements.activities(at: time)] + statements.removal(at: time))
                let ids = try results[0].rows.map { try $0.column(0, as: String.self) }
                let ends = EndStatements(scope: scope, who: who).end(ids, reason: .ended, observedAt: time)
                _ = try transaction.pipeline(ids.isEmpty ? [] : ends, finishing: true)
            }
        }
    }

    /// An installation's record, or nil when it is not known.
    public func installation(_ installation: InstallationHash, in scope: Scope) async throws -> InstallationRecord? {
        let statements = InstallationStatements(installation: installation, scope: scope)
        return try await read { session in
            let results = try session.pipeline([statements.record, statements.tokens])
            guard let row = results[0].rows.first else { return nil }
            var record = try InstallationRecord(row, of: installation)
            record.tokens = try results[1].rows.map(InstallationRecord.Token.init)
            return record
        }
    }

    /// Whether two devices seem to share the installation's id: the values of one of its tokens went A, B, A.
    public func isFlapping(_ installation: InstallationHash, in scope: Scope) async throws -> Bool {
        try await self.installation(installation, in: scope)?.isFlapping ?? false
    }
}
