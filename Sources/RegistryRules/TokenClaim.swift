import RegistryCore

/// The SHA-256 of a token value.
package struct TokenDigest: Sendable, Hashable, Comparable {
    /// 32 bytes.
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }
    package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

/// An activity's claim on its token. The greatest (`observedAt`, `digest`) determines the token (R2).
package struct TokenClaim: Sendable, Hashable {
    package let digest: TokenDigest
    /// Nil when the activity is over: the registry then keeps only the digest.
    package var token: PushToken?
    package var observedAt: Timestamp
    /// The time that feedback is compared with: the lesser of `observedAt` and the receipt (R8).
    package var claimedAt: Timestamp

    package init(digest: TokenDigest, token: PushToken?, observedAt: Timestamp, claimedAt: Timestamp) {
        self.digest = digest
        self.token = token
        self.observedAt = observedAt
        self.claimedAt = claimedAt
    }

    func precedes(_ other: TokenClaim) -> Bool {
        (observedAt, digest) < (other.observedAt, other.digest)
    }
}
