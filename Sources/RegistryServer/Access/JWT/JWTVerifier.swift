import Crypto
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

/// A cache of verified JWTs by digest, which saves the signature check.
///
/// A proof holds until the token expires, the issuer's keys are fetched again, or the app changes. Even an old proof
/// indicates that the token is not a guess.
final class VerifiedTokens: Sendable {
    struct Name: Sendable, Hashable {
        private let digest: SHA256.Digest

        init(_ text: Secret, of bundleID: BundleID) {
            var hash = SHA256()
            hash.update(data: Data("\(bundleID)\0".utf8))
            hash.update(data: Data(text.revealed.utf8))
            digest = hash.finalize()
        }
    }

    struct Proof: Sendable {
        let user: Principal
        /// In seconds since 1970.
        let validity: Range<TimeInterval>
        let keys: VerificationKeySet
        let appUpdatedAt: Date
    }

    /// About 500 bytes each, 10 MB in total.
    static let maximumCount = 20_000

    private struct State {
        /// Tokens used since the last rotation into `old`.
        var young: [Name: Proof] = [:]
        var old: [Name: Proof] = [:]

        /// Only issuers can create tokens, so callers cannot evict tokens at will.
        mutating func add(_ proof: Proof, of name: Name) {
            if young.count >= VerifiedTokens.maximumCount / 2 { (young, old) = ([:], young) }
            young[name] = proof
        }
    }

    private let state = Mutex(State())
    var count: Int { state.withLock { $0.young.count + $0.old.count } }

    /// The proof of a token. It can be invalid now.
    func proof(of name: Name) -> Proof? {
        state.withLock { state in
            if let proof = state.young[name] { return proof }
            guard let proof = state.old.removeValue(forKey: name) else { return nil }
            state.add(proof, of: name)
            return proof
        }
    }

    func add(_ proof: Proof, of name: Name) { state.withLock { $0.add(proof, of: name) } }

    func remove(_ name: Name) {
        state.withLock { state in
            state.young[name] = nil
            state.old[name] = nil
        }
    }
}
