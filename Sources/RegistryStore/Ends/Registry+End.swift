import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Ending an activity twice is not an error, and ending an unknown activity creates its tombstone.
    ///
    /// - Parameter claimant: becomes the owner of an unknown activity's tombstone.
    /// - Throws: `clockSkew`, `notYours`.
    package func end(
        _ id: ActivityID,
        reason: EndReason,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let end = EndUnit(
            scope: scope,
            reason: reason,
            observedAt: observedAt.map(Timestamp.init),
            who: who,
            claimant: claimant
        )
        try await write { session in
            try session.transaction { transaction, _ in
                var rows = try RowLocks(ids: [id]).lockRows(in: scope, transaction)
                _ = try end.apply(to: [id], &rows, transaction)
                try rows.write(in: scope, transaction, isLast: true)
            }
        }
    }

    /// Ends all running activities that have the alias, a thousand per transaction. If the alias has activities, always
    /// writes (R1).
    ///
    /// - Returns: the number of activities that were running.
    package func endAll(under alias: Alias, in scope: Scope, by who: UTF8Text) async throws -> Int {
        let end = EndUnit(scope: scope, reason: .ended, observedAt: nil, who: who, claimant: .any)
        var (ended, hasWritten, next) = (0, false, Int64?.some(0))
        while let key = next {
            let page = try await write { session in
                try session.transaction { transaction, _ in
                    try end.endPage(under: alias, after: key, transaction)
                }
            }
            ended += page.running
            hasWritten = hasWritten || page.hasWritten
            next = page.last
        }
        if !hasWritten {
            let touch = Query("ends.touch-ended")(["scope": scope.id, "kind": alias.kind, "value": alias.value])
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

    private static let pageSize = 1000

    /// Ends locked activities. Skips erased activities, because a new tombstone would contain their names.
    ///
    /// - Throws: `clockSkew`, `notYours`.
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
                let wasRunning = try rows.end(
                    id,
                    reason: reason,
                    observedAt: observedAt,
                    claimant: claimant,
                    actor: who
                )
                running += wasRunning ? 1 : 0
            } catch {
                throw Problem(error, at: rows.now)
            }
        }
        return running
    }

    /// - Returns: how many activities of the page were running, whether anything was written, and the key of its last
    ///   activity, or nil for the last page.
    fileprivate func endPage(
        under alias: Alias,
        after key: Int64,
        _ transaction: borrowing PostgresTransaction
    ) throws -> (running: Int, hasWritten: Bool, last: Int64?) {
        let page = Query("ends.read-running-page")([
            "scope": scope.id, "kind": alias.kind, "value": alias.value, "after": key, "limit": Self.pageSize,
        ])
        let found = try transaction.execute(page).decode(PageRow.self)
        guard !found.isEmpty else { return (0, false, nil) }
        var rows = try RowLocks(ids: Set(found.map(\.id))).lockRows(in: scope, transaction)
        let running = try apply(to: found.map(\.id), &rows, transaction)
        try rows.write(in: scope, transaction, isLast: true)
        return (running, true, found.count < Self.pageSize ? nil : found.last?.key)
    }

    private struct PageRow: DecodableRow {
        let id: ActivityID
        let key: Int64

        init(row: NamedRow) throws {
            id = try row["activity_id"]
            key = try row["activity_key"]
        }
    }
}
