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
        let first = try await transact { transaction, _ in try unit.logOut(in: transaction) }
        var next = first.next
        while let key = next {
            next = try await transact { transaction, _ in
                let search = unit.search(after: key, startedBy: first.time)
                return try unit.end(at: first.endedAt).endPage(search, transaction).next
            }
        }
    }
}

private struct LogOutUnit {
    let request: InstallationRequest
    let scope: Scope

    /// - Returns: the time of the log-out, the time at which it ends activities, and the key of the last activity that
    ///   it ended, or nil after the last page.
    func logOut(
        in transaction: borrowing PostgresTransaction
    ) throws -> (time: Timestamp, endedAt: Timestamp, next: Int64?) {
        let locks = InstallationLocks(of: request, includesSlots: true)
        // A log-out without a time is later than every start.
        let first = search(after: 0, startedBy: request.observedAt ?? .distantFuture)
        let page = try EndUnit.page(transaction.pipeline([locks.lockInstallation(in: scope), first])[1])
        var rows = try RowLocks(scope: scope, ids: Set(page.ids)).lockRows(locks, transaction)
        let time: Timestamp
        do throws(Problem) {
            time = try rows.decide { rows throws(Rejection) in try rows.logOut(request) }
        } catch {
            guard error.isOfErased else { throw error }
            return (rows.now, rows.now, nil)
        }
        // A log-out without a time may get the future time of a fast clock.
        let endedAt = min(time, rows.now)
        _ = try end(at: endedAt).apply(to: page.ids, &rows, transaction)
        try rows.write(in: scope, transaction)
        return (time, endedAt, page.next)
    }

    func end(at time: Timestamp) -> EndUnit {
        EndUnit(scope: scope, reason: .ended, observedAt: time, who: request.actor, claimant: .any)
    }

    /// A page of the running activities that had started by the log-out. An earlier start may be reported later; the
    /// view of deliverable activities applies this rule too.
    func search(after key: Int64, startedBy time: Timestamp) -> SQL {
        Query("installations.read-running-page")([
            "scope": scope.id, "installation": request.installation, "after": key, "started_by": time,
            "limit": EndUnit.pageSize,
        ])
    }
}
