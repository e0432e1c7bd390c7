import Crypto
import Foundation
import RegistryCore

extension APIKey {
    /// The SHA-256 of the secret: what is stored in its place.
    package var secretDigest: [UInt8] { Array(SHA256.hash(data: Data(secret.revealed.utf8))) }
}
