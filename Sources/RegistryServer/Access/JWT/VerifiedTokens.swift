import Crypto
import Foundation
import RegistryCore
import Synchronization

/// The JWTs that were valid when they were last shown, by their digests. Each is verified every time all the same: to be
/// known only means not to be taken for a guess.
final class ProvedTokens: Sendable {
    /// A JWT as it was shown for an app.
    struct Name: Sendable, Hashable {
        fileprivate let digest: [UInt8]

        init(_ text: Secret, of bundleID: BundleID) {
            digest = Array(SHA256.hash(data: Data("\(bundleID)\0\(text.revealed)".utf8)))
        }
    }

    /// How many are known.
    static let maximumCount = 10_000

    private let names = Mutex<Set<Name>>([])

    func contains(_ name: Name) -> Bool { names.withLock { $0.contains(name) } }

    func add(_ name: Name) {
        names.withLock { names in
            // Issuers alone can make them, so that nobody has a use for pushing others out.
            if names.count >= Self.maximumCount { names.removeAll(keepingCapacity: true) }
            names.insert(name)
        }
    }

    func remove(_ name: Name) { names.withLock { _ = $0.remove(name) } }
}
