import RegistryCore

/// A token slot of an installation as its locked row holds it. After a deletion the row stays as a tombstone.
package struct InstallationToken: Sendable, Hashable {
    package struct ID: Sendable, Hashable, Comparable {
        package let installation: InstallationHash
        package let kind: String
        /// Empty for kinds of which an installation has one token.
        package let attributesType: UTF8Text

        package init(installation: InstallationHash, kind: String, attributesType: UTF8Text) {
            self.installation = installation
            self.kind = kind
            self.attributesType = attributesType
        }

        package static func < (left: Self, right: Self) -> Bool {
            (left.installation, left.kind, left.attributesType) < (right.installation, right.kind, right.attributesType)
        }
    }

    /// The effect of a registration on the slot.
    package enum Effect: Sendable, Hashable {
        case registered
        case rotated
        case refreshed
        /// The slot had been emptied, or its token was withheld.
        case reactivated
        /// Another token is later (R3).
        case superseded
        /// A later deletion or log-out removed it.
        case removed
    }

    package let id: ID
    /// Whether a value belongs to its last claimant alone (R7).
    package let hasOneOwner: Bool
    /// The token with the greatest (`observedAt`, digest); nil while only a deletion is known.
    package var token: TokenClaim?
    package var confirmedAt: Timestamp?
    /// The greatest time of its deletions: everything observed no later is gone.
    package var deletedAt: Timestamp?
    package var withheld: WithholdingReason?
    /// Nil for a new slot.
    package var handle: RowHandle?

    /// The most slots for start tokens of an installation, tombstones included. A log-out, the audit and senders' pages read all
    /// of them; an app has a few attributes types.
    package static let mostAttributesTypes = 128

    package init(id: ID, hasOneOwner: Bool) {
        self.id = id
        self.hasOneOwner = hasOneOwner
    }

    /// The claim that a registration makes (R3). Without `observedAt` the current token claims nothing new, and any other counts
    /// as observed at the receipt.
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
        // A client's confirmation ends a quarantine. It revives no dead token: it may have been sent before APNs's answer.
        return claim(current.observedAt, withheld == .quarantined ? now : current.claimedAt)
    }

    /// Merges a claim: the greatest (`observedAt`, digest) stays (R3). A claim that a later deletion or log-out removed counts,
    /// but stores no token.
    mutating func merge(_ claim: TokenClaim, loggedOutAt: Timestamp?, receivedAt now: Timestamp) -> Effect {
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

    /// Deletes the token, if it was observed by then.
    ///
    /// - Returns: whether there was one.
    mutating func delete(observedAt time: Timestamp) -> Bool {
        deletedAt = max(deletedAt ?? time, time)
        return removeToken(observedBy: time)
    }

    /// - Returns: whether there was one.
    mutating func removeToken(observedBy time: Timestamp) -> Bool {
        guard let current = token, current.token != nil, current.observedAt <= time else { return false }
        token?.token = nil
        withheld = nil
        return true
    }
}
