import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Ends an activity, known or not. Ending twice is not an error.
    ///
    /// - Parameter claimant: by what right; the tombstone of an activity never seen is the claimant's.
    /// - Throws: `clockSkew`, `notYours`.
    public func end(
        _ id: ActivityID,
        reason: EndReason,
        observedAt: Date?,
        in scope: Scope,
        by who: String,
        claimant: Claimant = .any
    ) async throws {
        let statements = EndStatements(scope: scope, who: who, claimant: claimant)
        let facts = Refusal.facts(about: [id.rawValue], for: claimant, in: scope)
        try await write { session in
            let all = statements.end([id.rawValue], reason: reason, observedAt: observedAt)
            let ended = try session.pipeline(all + [facts])
            guard ended[0].isEmpty else { return }
            let refusal = try Refusal(of: observedAt, as: id.rawValue, ended[all.count][0])
            // What was erased is over as it is.
            if case .erased = refusal { return }
            throw refusal.problem
        }
    }

    /// Ends all running activities that bear the alias, a thousand a transaction.
    ///
    /// - Returns: how many of them ran.
    public func endAll(under alias: Alias, in scope: Scope, by who: String) async throws -> Int {
        var ended = 0
        while true {
            let page = try await write { try Self.endPage(under: alias, in: scope, by: who, $0) }
            ended += page.running
            guard page.found == Self.endPageSize else { return ended }
        }
    }

    private static let endPageSize = 1000

    private static func endPage(
        under alias: Alias,
        in scope: Scope,
        by who: String,
        _ session: borrowing PostgresSession
    ) throws -> (found: Int, running: Int) {
        let statements = EndStatements(scope: scope, who: who)
        return try session.transaction { transaction in
            let rows = try transaction.execute(statements.end(under: alias, limit: endPageSize)).rows
            let ended = try rows.map(MergedActivity.init)
            _ = try transaction.pipeline(statements.consequences(ended.map(\.activityID)), finishing: true)
            let running = ended.filter { $0.outcome == "ended" && $0.isWithinLifetime }
            return (ended.count, running.count)
        }
    }
}
