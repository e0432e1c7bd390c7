import Crypto
import Foundation
import RegistryCore

extension APIKey {
    package var secretDigest: [UInt8] { Array(SHA256.hash(data: Data(secret.revealed.utf8))) }
}
