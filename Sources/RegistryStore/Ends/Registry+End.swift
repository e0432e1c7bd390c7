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
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let statements = EndStatements(scope: scope, who: who, claimant: claimant)
        try await write { session in
            let ended = try session.pipeline(statements.end([id], reason: reason, observedAt: observedAt))
            guard ended[0].isEmpty else { return }
            let refusal = try Refusal(of: observedAt, as: id, session.execute(statements.refusalFacts(about: [id]))[0])
            // An erased activity is over already.
            if case .erased = refusal { return }
            throw refusal.problem
        }
    }

    /// Ends all running activities that bear the alias, a thousand a transaction.
    ///
    /// - Returns: how many of them ran.
    public func endAll(under alias: Alias, in scope: Scope, by who: UTF8Text) async throws -> Int {
        var (ended, next) = (0, Int64?.some(0))
        while let number = next {
            let page = try await write { try Self.endPage(under: alias, after: number, in: scope, by: who, $0) }
            ended += page.running
            next = page.last
        }
        return ended
    }

    private static let endPageSize = 1000

    /// - Returns: how many of the page ran, and the number of its last activity; nil for the last page.
    private static func endPage(
        under alias: Alias,
        after number: Int64,
        in scope: Scope,
        by who: UTF8Text,
        _ session: borrowing PostgresSession
    ) throws -> (running: Int, last: Int64?) {
        let statements = EndStatements(scope: scope, who: who)
        let end = ResolveStatements.number(of: alias, after: number, count: endPageSize, in: scope)
        return try session.transaction { transaction in
            let last = try transaction.execute(end).rows.first?.decode(Int64.self)
            let page = statements.end(under: alias, after: number, through: last ?? .max)
            let ended = try transaction.execute(page).decode(MergedActivity.columns)
            _ = try transaction.pipeline(statements.consequences(ended.map(\.activityID)), finishing: true)
            let running = ended.filter { $0.outcome == "ended" && $0.isWithinLifetime }
            return (running.count, last)
        }
    }
}
