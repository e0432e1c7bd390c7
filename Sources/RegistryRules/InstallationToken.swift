import RegistryCore

/// A token slot of an installation, as stored in its locked row. A deletion leaves a tombstone.
package struct InstallationToken: Sendable, Hashable {
    package struct ID: Sendable, Hashable, Comparable {
        package let installation: InstallationHash
        package let kind: String
        /// Empty for kinds that allow one token per installation.
        package let attributesType: UTF8Text

        package init(installation: InstallationHash, kind: String, attributesType: UTF8Text) {
            (self.installation, self.kind, self.attributesType) = (installation, kind, attributesType)
        }

        package static func < (left: Self, right: Self) -> Bool {
            (left.installation, left.kind, left.attributesType) < (right.installation, right.kind, right.attributesType)
        }
    }

    package let id: ID
    /// Whether a value belongs only to its last claimant (R7).
    package let hasOneOwner: Bool
    /// The claim with the greatest (`observedAt`, digest); nil while only a deletion is known.
    package var token: TokenClaim?
    package var confirmedAt: Timestamp?
    /// The greatest time of its deletions. Everything observed at or before it is gone.
    package var deletedAt: Timestamp?
    package var withheld: WithholdingReason?
    package var position: RowPosition?

    /// Maximum slots for start tokens per installation, including tombstones. The number is limited because log-outs,
    /// audits and pages for senders read all slots. Real apps have a few attributes types.
    package static let mostAttributesTypes = 128

    package init(id: ID, hasOneOwner: Bool) {
        self.id = id
        self.hasOneOwner = hasOneOwner
    }

    /// The claim of a registration (R3). Without `observedAt`, the current token keeps its claim, and any other token
    /// counts as observed at receipt.
    func claim(
        _ token: PushToken,
        _ digest: TokenDigest,
        observedAt: Timestamp?,
        receivedAt now: Timestamp
    ) -> TokenClaim {
        func claim(_ observedAt: Timestamp, _ claimedAt: Timestamp) -> TokenClaim {
            TokenClaim(digest: digest, token: token, observedAt: observedAt, claimedAt: claimedAt)
        }
        if let observedAt { return claim(observedAt, min(observedAt, now)) }
        guard let current = self.token, current.token != nil, current.digest == digest else { return claim(now, now) }
        // A client's confirmation ends a quarantine, but does not revive a dead token: it may predate APNs's response.
        return claim(current.observedAt, withheld == .quarantined ? now : current.claimedAt)
    }

    /// Merges a claim. The greatest (`observedAt`, digest) wins (R3). A claim covered by a later deletion or log-out
    /// still counts, but stores no token.
    mutating func merge(_ claim: TokenClaim, loggedOutAt: Timestamp?, receivedAt now: Timestamp) -> RegistrationEffect {
        let removedAt = [deletedAt, loggedOutAt].compactMap(\.self).max() ?? .distantPast
        let isRemoved = claim.observedAt <= removedAt
        var claim = claim
        if isRemoved { claim.token = nil }
        guard let current = token else {
            (token, confirmedAt) = (claim, now)
            return isRemoved ? .removed : .registered
        }
        let (isSame, isLater) = (claim.digest == current.digest, current.precedes(claim))
        if isSame || isLater { confirmedAt = max(confirmedAt ?? now, now) }
        if isSame { claim.claimedAt = max(current.claimedAt, claim.claimedAt) }
        if isLater { token = claim } else if isSame { token?.claimedAt = claim.claimedAt }
        if current.observedAt <= removedAt { return isRemoved ? .removed : .reactivated }
        return isSame ? .refreshed : isLater ? .rotated : .superseded
    }

    mutating func delete(observedAt time: Timestamp) -> Bool {
        deletedAt = max(deletedAt ?? time, time)
        return removeToken(observedBy: time)
    }

    mutating func removeToken(observedBy time: Timestamp) -> Bool {
        guard let current = token, current.token != nil, current.observedAt <= time else { return false }
        token?.token = nil
        withheld = nil
        return true
    }
}
