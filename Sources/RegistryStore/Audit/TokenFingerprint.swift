import Crypto
import Foundation
import RegistryCore

package enum TokenFingerprint {
    /// The first 4 bytes of the token's SHA-256, in lower-case hex.
    package static func text(of token: [UInt8]) -> String {
        Hexadecimal.encode(Array(SHA256.hash(data: Data(token)).prefix(4)))
    }
}
