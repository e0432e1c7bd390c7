import Foundation
import RegistryCore
import RegistryStore
import Synchronization

/// Verifies JWTs by the settings of the path's app, because a token names no app.
struct JWTVerifier: Sendable {
    private let keys: IssuerKeys
    private let clock: ServiceClock
    private let verified = VerifiedTokens()

    init(keys: IssuerKeys, clock: ServiceClock) {
        self.keys = keys
        self.clock = clock
    }

    func knownUser(of name: VerifiedTokens.Name, _ app: App) -> Principal? {
        guard let proof = verified.proof(of: name), proof.appUpdatedAt == app.updatedAt,
            keys.areCurrent(proof.keys, of: app.bundleID),
            proof.validity.contains(clock.date().timeIntervalSince1970)
        else { return nil }
        return proof.user
    }

    /// Whether a token was valid at its last check, of any age.
    func wasValid(_ name: VerifiedTokens.Name) -> Bool { verified.proof(of: name) != nil }

    func forgetIssuer(of app: BundleID) { keys.journal.recordFailure(nil, of: app) }

    /// Caches the user under `name`, or forgets the token if it is invalid.
    ///
    /// - Throws: `unauthenticated`, or `unavailable` if the issuer's keys were never available.
    func user(of token: CompactJWT, named name: VerifiedTokens.Name, _ app: App) async throws(Problem) -> Principal {
        do throws(Problem) {
            let proof = try await verify(token, of: app)
            verified.add(proof, of: name)
            return proof.user
        } catch {
            if error.code == .unauthenticated { verified.remove(name) }
            throw error
        }
    }

    private func verify(_ token: CompactJWT, of app: App) async throws(Problem) -> VerifiedTokens.Proof {
        guard let settings = app.settings.jwt, let requirements = JWTRequirements(settings) else {
            throw Problem.invalidCredentials
        }
        // Without `kid`, only a signature check shows whether the key is known. Its result is kept.
        let fits = Mutex(false)
        let found = await keys.keys(of: app.bundleID, settings, requirements.source) { set in
            guard !set.names(token) else { return true }
            let isVerified = set.candidates(for: token).contains { $0.verifies(token) }
            if isVerified { fits.withLock { $0 = true } }
            return isVerified
        }
        guard let found else { throw noKeys(of: app.bundleID) }
        let isVerified = fits.withLock { $0 } || found.candidates(for: token).contains { $0.verifies(token) }
        guard isVerified else { throw Problem.invalidCredentials }
        let (subject, validity) = try requirements.subject(of: token.claims, at: clock.date())
        return VerifiedTokens.Proof(
            user: Principal(role: .client, who: AuditName.user(subject), app: app.bundleID, subject: subject),
            validity: validity,
            keys: found,
            appUpdatedAt: app.updatedAt
        )
    }

    private func noKeys(of app: BundleID) -> Problem {
        let cause = keys.journal.failure(of: app).map { ": its jwksUrl \($0)" } ?? " now"
        var problem = Problem(
            .unavailable,
            "The keys of the app's issuer cannot be fetched\(cause). Send the request again."
        )
        problem.retryAfter = .seconds(10)
        return problem
    }
}
