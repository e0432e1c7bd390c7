import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Ending an activity twice is not an error, and ending an unknown activity creates its tombstone.
    package func end(
        _ id: ActivityID,
        reason: EndReason,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let observedAt = observedAt.map(Timestamp.init)
        let end = EndUnit(scope: scope, reason: reason, observedAt: observedAt, who: who, claimant: claimant)
        try await transact { transaction, _ in
            var rows = try RowLocks(scope: scope, ids: [id]).lockRows(transaction)
            _ = try end.apply(to: [id], &rows, transaction)
            try rows.write(in: scope, transaction)
        }
    }

    /// Ends all running activities that have the alias, a thousand per transaction. If the alias has activities, always
    /// writes (R1). Returns the number of activities that were running.
    package func endAll(under alias: Alias, in scope: Scope, by who: UTF8Text) async throws -> Int {
        let end = EndUnit(scope: scope, reason: .ended, observedAt: nil, who: who, claimant: .any)
        var (ended, hasWritten, next) = (0, false, Int64?.some(0))
        while let key = next {
            let search = Query("ends.read-running-page")(
                alias.values(in: scope) + ["after": key, "limit": EndUnit.pageSize]
            )
            let page = try await transact { transaction, _ in
                // A registration may have taken the alias away before the lock.
                try end.endPage(search, transaction) { $0.aliases?.value.aliases.contains(alias) ?? false }
            }
            ended += page.running
            hasWritten = hasWritten || page.hasWritten
            next = page.next
        }
        if !hasWritten {
            let touch = Query("ends.touch-ended")(alias.values(in: scope))
            try await write { _ = try $0.execute(touch) }
        }
        return ended
    }
}

struct EndUnit {
    let scope: Scope
    let reason: EndReason
    let observedAt: Timestamp?
    let who: UTF8Text
    let claimant: Claimant

    static let pageSize = 1000

    /// Ends locked activities, and returns how many were running. Skips erased activities, because a new tombstone
    /// would contain their names.
    func apply(
        to ids: [ActivityID],
        _ rows: inout LockedRows,
        _ transaction: borrowing PostgresTransaction
    ) throws -> Int {
        let names = ids.map { [Erasures.name(of: $0)] }
        let erasures = rows.hasErasures ? try Erasures(of: names, in: scope, transaction) : Erasures()
        var running = 0
        for (index, id) in ids.enumerated() where !erasures.concern(index, observedAt: .distantFuture) {
            do throws(Rejection) {
                let isEnd = try rows.end(id, reason: reason, observedAt: observedAt, claimant: claimant, actor: who)
                running += isEnd ? 1 : 0
            } catch { throw Problem(error, at: rows.now) }
        }
        return running
    }

    /// Ends a page of the activities that a query finds and that are meant once they are locked. `next` is the key of the
    /// page's last activity, or nil for the last page.
    func endPage(
        _ search: SQL,
        _ transaction: borrowing PostgresTransaction,
        where isMeant: (Activity) -> Bool = { _ in true }
    ) throws -> (running: Int, hasWritten: Bool, next: Int64?) {
        let page = try Self.page(transaction.execute(search))
        guard !page.ids.isEmpty else { return (0, false, nil) }
        var rows = try RowLocks(scope: scope, ids: Set(page.ids)).lockRows(transaction)
        let ids = page.ids.filter { rows.activity($0).map(isMeant) ?? false }
        let running = try apply(to: ids, &rows, transaction)
        try rows.write(in: scope, transaction)
        return (running, !ids.isEmpty, page.next)
    }

    /// `next` is the last key of a full page.
    static func page(_ result: PostgresResult) throws -> (ids: [ActivityID], next: Int64?) {
        let found: [(id: ActivityID, key: Int64)] = try result.decode {
            (try $0["activity_id"], try $0["activity_key"])
        }
        return (found.map(\.id), found.count < pageSize ? nil : found.last?.key)
    }
}
