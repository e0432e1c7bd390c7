import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Removes start and device tokens, aliases and metadata, and ends activities, if observed at or before the
    /// log-out. An unknown installation gets a tombstone.
    ///
    /// The log-out's transaction ends the first thousand activities; further transactions end a thousand each. Once the
    /// log-out is committed, none is deliverable.
    ///
    /// - Throws: `clockSkew`, `notYours`.
    package func logOut(
        _ installation: InstallationHash,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let observedAt = observedAt.map(Timestamp.init)
        let request = InstallationRequest(installation, observedAt: observedAt, claimant: claimant, actor: who)
        let unit = LogOutUnit(request: request, scope: scope)
        let first = try await write { session in
            try session.transaction { transaction, _ in try unit.logOut(in: transaction) }
        }
        var next = first.next
        while let key = next {
            next = try await write { session in
                try session.transaction { transaction, _ in
                    try unit.endPage(after: key, at: first.time, in: transaction)
                }
            }
        }
    }
}

private struct LogOutUnit {
    let request: InstallationRequest
    let scope: Scope

    private static let pageSize = 1000

    /// - Returns: the time of the log-out, and the key of the last activity that it ended, or nil after the last page.
    func logOut(in transaction: borrowing PostgresTransaction) throws -> (time: Timestamp, next: Int64?) {
        let locks = InstallationLocks(of: request, includesSlots: true)
        // A log-out without a time is later than every start.
        let first = search(after: 0, startedBy: request.observedAt ?? .distantFuture)
        let page = try Page(transaction.pipeline([locks.lockInstallation(in: scope), first])[1])
        var rows = try RowLocks(ids: Set(page.ids)).lockRows(locks, in: scope, transaction)
        let time: Timestamp
        do throws(Problem) {
            time = try rows.decide { rows throws(Rejection) in try rows.logOut(request) }
        } catch {
            guard error.isOfErased else { throw error }
            return (rows.now, nil)
        }
        try end(page.ids, at: time, &rows, transaction)
        try rows.write(in: scope, transaction, isLast: true)
        return (time, page.next)
    }

    /// Ends a page of the activities that had started by the log-out. An earlier start may be reported later; the view
    /// of deliverable activities applies this rule too.
    ///
    /// - Returns: the key of the last ended activity, or nil after the last page.
    func endPage(after key: Int64, at time: Timestamp, in transaction: borrowing PostgresTransaction) throws -> Int64? {
        let page = try Page(transaction.execute(search(after: key, startedBy: time)))
        guard !page.ids.isEmpty else { return nil }
        var rows = try RowLocks(ids: Set(page.ids)).lockRows(in: scope, transaction)
        try end(page.ids, at: time, &rows, transaction)
        try rows.write(in: scope, transaction, isLast: true)
        return page.next
    }

    private func end(
        _ ids: [ActivityID],
        at time: Timestamp,
        _ rows: inout LockedRows,
        _ transaction: borrowing PostgresTransaction
    ) throws {
        // A log-out without a time may get the future time of a fast clock.
        let end = EndUnit(
            scope: scope,
            reason: .ended,
            observedAt: min(time, rows.now),
            who: request.actor,
            claimant: .any
        )
        _ = try end.apply(to: ids, &rows, transaction)
    }

    private func search(after key: Int64, startedBy time: Timestamp) -> SQL {
        Query.readRunningPage([
            "scope": scope.id, "installation": request.installation, "after": key, "started_by": time,
            "limit": Self.pageSize,
        ])
    }

    private struct Page {
        let ids: [ActivityID]
        let next: Int64?

        init(_ result: PostgresResult) throws {
            let found = try result.decode(ActivityID.self, Int64.self)
            ids = found.map(\.0)
            next = found.count < LogOutUnit.pageSize ? nil : found.last?.1
        }
    }
}

extension Query {
    static let readRunningPage: Query = "installations.read-running-page"
}
