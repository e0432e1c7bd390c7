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
            workers: 2...2,
            largestBatch: 128,
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
