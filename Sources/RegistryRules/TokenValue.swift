import RegistryCore

/// Everything known about one token value, whichever activity or installation has it.
package struct TokenValue: Sendable, Hashable {
    package let digest: TokenDigest
    /// The activity with the greatest (`observedAt`, id) that ever claimed the value; it stays after a rotation or end.
    package var owner: Owner?
    /// The value is known as a token of an installation, never as an activity's.
    package var isHeldByInstallation = false
    /// The greatest time as of which APNs reported the value dead, or an admin purged it.
    package var deadAt: Timestamp?
    /// The last time as of which an admin purged claims on it.
    package var purgedAt: Timestamp?
    package var quarantinedAt: Timestamp?

    package struct Owner: Sendable, Hashable {
        package let activityID: ActivityID
        package var observedAt: Timestamp

        package init(activityID: ActivityID, observedAt: Timestamp) {
            self.activityID = activityID
            self.observedAt = observedAt
        }
    }

    package init(digest: TokenDigest) { self.digest = digest }

    /// Counts a claim: the greatest (`observedAt`, id) owns the value (R2, R7).
    ///
    /// - Returns: the activity that lost the value.
    mutating func claim(for activity: ActivityID, observedAt: Timestamp) -> ActivityID? {
        guard let current = owner else {
            owner = Owner(activityID: activity, observedAt: observedAt)
            return nil
        }
        guard (current.observedAt, current.activityID) < (observedAt, activity) else { return nil }
        owner = Owner(activityID: activity, observedAt: observedAt)
        return current.activityID == activity ? nil : current.activityID
    }

    /// Why the value is not deliverable for an activity; nil if it is. The only definition (R2, R7, R8).
    package func withholdingReason(for claim: TokenClaim, of activity: ActivityID) -> WithholdingReason? {
        if owner?.activityID != activity { return .takenOver }
        if isHeldByInstallation { return .kindConflict }
        if let deadAt, claim.claimedAt <= deadAt { return deadAt == purgedAt ? .purged : .unregistered }
        if let quarantinedAt, claim.claimedAt <= quarantinedAt { return .quarantined }
        return nil
    }
}

/// Why a current token is withheld from senders.
package enum WithholdingReason: String, Sendable, Hashable, CaseIterable {
    case takenOver = "taken-over"
    case kindConflict = "kind-conflict"
    case unregistered
    case purged
    case quarantined
}
