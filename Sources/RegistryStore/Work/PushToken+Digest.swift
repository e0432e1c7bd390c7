import Crypto
import RegistryCore

extension PushToken {
    /// The SHA-256 of its bytes, by which its value's row is found. Made here once: Postgres would make it in every statement.
    var digest: SHA256Digest { SHA256.hash(data: bytes) }
}
