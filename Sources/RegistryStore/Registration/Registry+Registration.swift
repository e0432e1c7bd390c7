import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// - Parameters:
    ///   - claimant: a client's own subject and installation replace those in the registration.
    /// - Throws: `superseded`, `tokenKindConflict`, `tokenUnregistered`, `activityEnded`, `activityExpired`,
    ///   `clockSkew`, `notYours`.
    package func register(
        _ registration: ActivityRegistration,
        as id: ActivityID,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any,
        on executor: (any TaskExecutor)? = nil
    ) async throws -> RegistrationResult {
        let registration = Registration(registration, of: id, claimant: claimant, actor: who)
        return try await registrations.submit(RegistrationRequest(registration, in: scope), on: executor)
    }
}

extension Registration {
    init(_ body: ActivityRegistration, of id: ActivityID, claimant: Claimant, actor: UTF8Text) {
        self.init(body, of: id, digest: body.token.map(TokenDigest.init), claimant: claimant, actor: actor)
    }
}

/// A class, because copies between queue, batch and answer cost more.
final class RegistrationRequest: Sendable {
    let registration: Registration
    let scope: Scope

    init(_ registration: Registration, in scope: Scope) {
        self.registration = registration
        self.scope = scope
    }
}

extension Batcher<RegistrationRequest, RegistrationResult> {
    /// Registrations of one scope share a transaction, in order of arrival.
    static func registrations(_ units: UnitsOfWork) -> Batcher {
        Batcher(
            workers: 1...2,
            largestBatch: 128,
            crowd: 16,
            timeout: units.pool.requestTimeout,
            metrics: units.metrics.batches[.registrations],
            mayShare: { $0.scope.id == $1.scope.id },
            perform: { worker in
                try await units.serve(worker, .registrations, .ifSafe) { session, requests in
                    let unit = RegistrationUnit(registrations: requests.map(\.registration), scope: requests[0].scope)
                    return try session.transaction { try unit.mergeRegistrations(in: $0, locking: $1) }
                }
            }
        )
    }
}

struct RegistrationUnit {
    let registrations: [Registration]
    let scope: Scope

    /// - Parameter additionalIDs: activities to lock in addition to the registrations' activities.
    func mergeRegistrations(
        in transaction: borrowing PostgresTransaction,
        locking additionalIDs: Set<ActivityID>
    ) throws -> [Result<RegistrationResult, Problem>] {
        var rows = try locks(adding: additionalIDs).lockRows(transaction)
        let results = try merge(&rows, transaction)
        try rows.write(in: scope, transaction)
        return results
    }

    func locks(adding ids: Set<ActivityID>) -> RowLocks {
        RowLocks(
            scope: scope,
            ids: Set(registrations.map(\.id)),
            owners: ids,
            digests: Set(registrations.compactMap(\.digest)),
            installations: Set(registrations.compactMap(\.body.installation))
        )
    }

    func merge(
        _ rows: inout LockedRows,
        _ transaction: borrowing PostgresTransaction
    ) throws -> [Result<RegistrationResult, Problem>] {
        let names = rows.hasErasures ? registrations.map(\.erasableNames) : []
        let erasures = rows.hasErasures ? try Erasures(of: names, in: scope, transaction) : Erasures()
        return registrations.enumerated().map { index, registration in
            rows.merge(registration) { erasures.concern(index, observedAt: $0) }
        }
    }
}
