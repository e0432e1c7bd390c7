import Crypto
import Foundation
import RegistryCore

package enum TokenFingerprint {
    /// The first 4 bytes of the SHA-256 of a token's bytes, in lower-case hex, as the audit trail has it.
    package static func text(of token: [UInt8]) -> String {
        Hexadecimal.encode(Array(SHA256.hash(data: Data(token)).prefix(4)))
    }
}
