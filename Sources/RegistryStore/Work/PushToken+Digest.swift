import Crypto
import RegistryCore
import RegistryRules

extension PushToken {
    /// The key of its value's row. Computed once here, not in every statement.
    var digest: SHA256Digest { SHA256.hash(data: bytes) }
}

extension TokenDigest {
    init(_ token: PushToken) { self.init(bytes: Array(token.digest)) }
}
