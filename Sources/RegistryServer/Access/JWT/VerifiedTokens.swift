import Crypto
import Foundation
import RegistryCore
import Synchronization

/// The JWTs that were verified lately, by their digests: the next request with one of them needs no signature checked.
///
/// A proof holds until its token is over, the issuer's keys were fetched anew, or the app was changed. Of a token whose proof
/// does not hold any more, it is still known that it is no guess.
final class VerifiedTokens: Sendable {
    /// A JWT as it was shown for an app.
    struct Name: Sendable, Hashable {
        private let digest: SHA256.Digest

        init(_ text: Secret, of bundleID: BundleID) {
            var hash = SHA256()
            hash.update(data: Data("\(bundleID)\0".utf8))
            hash.update(data: Data(text.revealed.utf8))
            digest = hash.finalize()
        }
    }

    /// The user whom a signature vouched for, and the facts on which that turned.
    struct Proof: Sendable {
        let user: Principal
        /// In seconds since 1970.
        let validity: Range<TimeInterval>
        let keys: VerificationKeySet
        let appUpdatedAt: Date
    }

    /// How many are known: at some 500 bytes each, 10 MB.
    static let maximumCount = 20_000

    private struct State {
        /// Those that were shown since `old` became old.
        var young: [Name: Proof] = [:]
        var old: [Name: Proof] = [:]

        /// Issuers alone can make tokens, so that nobody has a use for pushing others out.
        mutating func add(_ proof: Proof, of name: Name) {
            if young.count >= VerifiedTokens.maximumCount / 2 { (young, old) = ([:], young) }
            young[name] = proof
        }
    }

    private let state = Mutex(State())

    /// How many are known now.
    var count: Int { state.withLock { $0.young.count + $0.old.count } }

    /// The proof of a token, which need not hold any more.
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
