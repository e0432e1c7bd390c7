import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Ends an activity, known or not. Ending twice is not an error.
    ///
    /// - Throws: `clockSkew`.
    public func end(
        _ id: ActivityID,
        reason: EndReason,
        observedAt: Date?,
        in scope: Scope,
        by who: String
    ) async throws {
        let statements = EndStatements(scope: scope, who: who)
        try await write { session in
            let all = statements.end([id.rawValue], reason: reason, observedAt: observedAt)
            let ended = try session.pipeline(all + ["SELECT clock_timestamp()"])
            guard ended[0].isEmpty else { return }
            throw try Self.refusal(of: observedAt, at: ended[all.count][0].column(0, as: Date.self))
        }
    }

    /// Why a statement that guards against times in the future and deleted apps touched nothing.
    static func refusal(of observedAt: Date?, at serverTime: Date) -> Problem {
        guard let observedAt, observedAt > serverTime else { return Problem(.unknownApp, "The app was deleted.") }
        return .clockSkew(serverTime)
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
