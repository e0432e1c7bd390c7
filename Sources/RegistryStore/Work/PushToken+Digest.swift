import Crypto
import RegistryCore
import RegistryRules

extension PushToken {
    /// Its value's row is found by it. Computed once here: Postgres would compute it in every statement.
    var digest: SHA256Digest { SHA256.hash(data: bytes) }
}

extension TokenDigest {
    init(_ token: PushToken) { self.init(bytes: Array(token.digest)) }
}
