import Crypto
import Foundation
import RegistryCore
import RegistryRules

extension TokenDigest {
    /// The key of the value's row. Computed once here, not in every statement.
    init(_ token: PushToken) { self.init(bytes: Array(SHA256.hash(data: token.bytes))) }
}

extension InstallationHash {
    /// The SHA-256 of the bundle id, a NUL byte and the installation id, so that hashes of two apps never match.
    package init(of installation: InstallationID, in app: BundleID) {
        let digest = SHA256.hash(data: Data("\(app.rawValue)\0\(installation.rawValue)".utf8))
        self.init(bytes: Array(digest))
    }
}

extension APIKey {
    package var secretDigest: [UInt8] { Array(SHA256.hash(data: Data(secret.revealed.utf8))) }
}

package enum TokenFingerprint {
    /// The first 4 bytes of the token's SHA-256, in lower-case hex.
    package static func text(of token: [UInt8]) -> String {
        Hexadecimal.encode(Array(SHA256.hash(data: Data(token)).prefix(4)))
    }
}
