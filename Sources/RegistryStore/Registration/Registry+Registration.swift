import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// - Parameter claimant: a client's registration counts as of its own subject and installation.
    /// - Throws: `superseded`, `tokenKindConflict`, `tokenUnregistered`, `activityEnded`, `activityExpired`,
    ///   `clockSkew`, `notYours`.
    package func register(
        _ registration: ActivityRegistration,
        as id: ActivityID,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws -> RegistrationAnswer {
        try await withCheckedContinuation { continuation in
            register(registration, as: id, in: scope, by: who, claimant: claimant, on: nil) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    /// As ``register(_:as:in:by:claimant:)``, for a caller without a task.
    ///
    /// - Parameters:
    ///   - executor: nil is Swift's own pool.
    ///   - complete: called once, on any thread.
    package func register(
        _ registration: ActivityRegistration,
        as id: ActivityID,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant,
        on executor: (any TaskExecutor)?,
        complete: @escaping @Sendable (Result<RegistrationAnswer, Problem>) -> Void
    ) {
        let request = RegistrationRequest(
            id: id,
            registration: registration,
            who: who,
            claimant: claimant,
            scope: scope
        )
        registrations.submit(request, on: executor, complete: complete)
    }
}
