import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Registers, rotates or refreshes an activity's token.
    ///
    /// - Parameter claimant: by what right; a client's registration counts as of its own subject and installation.
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

    /// Registers as ``register(_:as:in:by:claimant:)`` does, for a caller who has no task that could wait.
    ///
    /// - Parameters:
    ///   - executor: runs what goes on between waits; nil is Swift's own pool.
    ///   - complete: told the answer or the problem, once, on any thread.
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
