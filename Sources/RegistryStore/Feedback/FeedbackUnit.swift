import PostgresDriver
import RegistryCore
import RegistryRules

struct FeedbackUnit {
    let reports: [TokenReport]
    let scope: Scope
    let who: UTF8Text

    /// - Parameter additionalIDs: activities to lock in addition to the values' owners.
    /// - Throws: ``MissingLocks``, `unknownApp`.
    func applyReports(
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> (decisions: [FeedbackDecision], trippedKinds: [String]) {
        var locks = RowLocks(ids: additionalIDs, digests: Set(reports.map(\.digest)))
        locks.areForDeliveries = reports.allSatisfy { $0.meaning == .delivered || $0.meaning == .none }
        var guards = try findValues(&locks, transaction)
        let known = guards
        var rows = try locks.lockValues(in: scope, transaction)
        let (decisions, trippedKinds) = rows.apply(reports, guards: &guards, by: who)
        try rows.write(in: scope, transaction, isLast: true, and: update(guards.filter { !known.contains($0) }))
        return (decisions, trippedKinds)
    }

    /// Finds the values and, if any report is suspect, locks the burst guards. If a guard may trip, also finds the
    /// values that it would release.
    private func findValues(_ locks: inout RowLocks, _ transaction: borrowing PostgresTransaction) throws
        -> [BurstGuard]
    {
        let find = Query("feedback.find-values")(["scope": scope.id, "digests": Array(locks.digests)])
        let suspects = Set(reports.filter { $0.meaning == .suspect }.map(\.digest)).count
        guard suspects > 0 else {
            locks.add(try transaction.execute(find).decode(TokenValue.self))
            return []
        }
        let read = Query("feedback.read-guards")([
            "scope": scope.id, "suspects": suspects, "most_current": BurstGuard.mostCurrent,
            "window": BurstGuard.window,
        ])
        let found = try transaction.pipeline([Query("feedback.lock-guards")(scope.kinds), read, find])
        locks.add(try found[2].decode(TokenValue.self))
        let guards = try found[1].decode(BurstGuard.self)
        let kinds = guards.filter { $0.isExceeded(by: suspects) }.map(\.kind)
        if !kinds.isEmpty {
            let recent = try transaction.run(
                "feedback.find-recent",
                ["scope": scope.id, "kinds": kinds, "window": BurstGuard.window]
            )
            locks.add(try recent.decode(TokenValue.self))
        }
        return guards
    }

    private func update(_ guards: [BurstGuard]) -> [SQL] {
        guard !guards.isEmpty else { return [] }
        return [
            Query("feedback.update-guards")([
                "kinds": guards.map(\.kind),
                "tripped_at": guards.map(\.trippedAt),
                "reported_at": guards.map(\.reportedAt),
                "scope": scope.id,
            ])
        ]
    }

    /// The reported values that are known in the other environment, for responses that mention it. Runs outside the
    /// transaction, because on Citus these values may be on another node.
    func findKnownElsewhere(
        _ decisions: [FeedbackDecision],
        _ session: borrowing PostgresSession
    ) throws -> Set<TokenDigest> {
        let digests = Set(zip(reports, decisions).filter { $1.mentionsElsewhere }.map(\.0.digest))
        guard !digests.isEmpty else { return [] }
        let found = try session.run("feedback.find-values", ["scope": scope.other.id, "digests": Array(digests)])
        return Set(try found.decode(TokenValue.self).filter(\.isKnown).map(\.digest))
    }
}

extension BurstGuard: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(
            kind: try row["kind"],
            trippedAt: try row["tripped_at"],
            reportedAt: try row["reported_at"],
            recent: try row["recent"],
            current: try row["current"]
        )
    }
}
