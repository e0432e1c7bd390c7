import RegistryCore

package struct TokenDigest: Sendable, Hashable, Comparable {
    /// 32 bytes.
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }
    package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

/// An activity's or slot's claim on its token. The greatest (`observedAt`, `digest`) wins (R2, R3).
package struct TokenClaim: Sendable, Hashable {
    package let digest: TokenDigest
    /// Nil if the token was deleted; the digest stays.
    package var token: PushToken?
    package var observedAt: Timestamp
    /// Compared with the time of feedback: the lesser of `observedAt` and receipt (R8).
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
