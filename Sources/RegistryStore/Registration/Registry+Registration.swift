import Foundation
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
        let request = RegistrationRequest(
            id: id,
            registration: registration,
            who: who,
            claimant: claimant,
            scope: scope
        )
        return try await registrations.submit(request, on: executor)
    }
}
