import Foundation
import RegistryCore
import RegistryStore
import Synchronization

/// Checks the JWTs of signed-in users against the settings of the app that the path names; a token names no app itself.
struct JWTVerifier: Sendable {
    let keys: IssuerKeys
    let clock: ServiceClock

    /// The user of a token.
    ///
    /// - Throws: `unauthenticated`; `unavailable` when none of the issuer's keys was ever to be had.
    func principal(for token: CompactJWT, of app: App) async throws(Problem) -> Principal {
        guard let settings = app.settings.jwt, let requirements = JWTRequirements(settings) else {
            throw Problem.invalidCredentials
        }
        // Without a kid only the signature tells whether the key is the right one still; what it tells holds for the answer.
        let verified = Mutex(false)
        let found = await keys.keys(of: app.bundleID, settings, requirements.source) { set in
            let candidates = set.candidates(for: token)
            guard token.keyID == nil else { return !candidates.isEmpty }
            let fits = candidates.contains { $0.verifies(token) }
            if fits { verified.withLock { $0 = true } }
            return fits
        }
        guard let found else { throw Self.noKeys }
        let isVerified = verified.withLock { $0 } || found.candidates(for: token).contains { $0.verifies(token) }
        guard isVerified else { throw Problem.invalidCredentials }
        let subject = try requirements.subject(of: token.claims, at: clock.date())
        return Principal(role: .client, who: AuditName.user(subject), app: app.bundleID, subject: subject)
    }

    private static var noKeys: Problem {
        var problem = Problem(
            .unavailable,
            "The keys of the app's issuer cannot be fetched now. Send the request again."
        )
        problem.retryAfter = .seconds(10)
        return problem
    }
}
