import Crypto
import Foundation
import RegistryCore
import Synchronization

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
