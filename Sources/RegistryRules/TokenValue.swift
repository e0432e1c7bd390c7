import RegistryCore

package struct TokenValue: Sendable, Hashable {
    package let digest: TokenDigest
    /// The activity with the greatest (`observedAt`, id) that ever claimed the value. A rotation or end does not remove
    /// it.
    package var owner: Owner?
    /// The installation with the greatest (`observedAt`, hash, kind) that ever claimed the value. If set, the value is
    /// never an activity's token.
    package var installation: InstallationOwner?
    /// The last claim by a kind without an owner, such as start tokens.
    package var startObservedAt: Timestamp?
    /// The latest time of a death that APNs reported, or of a purge.
    package var deadAt: Timestamp?
    /// The last purge of the value's claims.
    package var purgedAt: Timestamp?
    package var quarantine: Quarantine?
    /// The last push that APNs accepted; set only if a report of this request is about the value.
    package var deliveredAt: Timestamp?
    package var position: RowPosition?

    /// Withholds a token until a client claims it later or an admin releases it (R8).
    package struct Quarantine: Sendable, Hashable {
        package let at: Timestamp
        package let kind: String
        package let reason: UTF8Text

        package init(at: Timestamp, kind: String, reason: UTF8Text) {
            (self.at, self.kind, self.reason) = (at, kind, reason)
        }
    }

    struct Holder {
        let kind: String
        let claimedAt: Timestamp
    }

    package struct Owner: Sendable, Hashable {
        package let activityID: ActivityID
        package var observedAt: Timestamp

        package init(activityID: ActivityID, observedAt: Timestamp) {
            (self.activityID, self.observedAt) = (activityID, observedAt)
        }
    }

    package struct InstallationOwner: Sendable, Hashable {
        package let hash: InstallationHash
        package let kind: String
        package var observedAt: Timestamp

        package init(hash: InstallationHash, kind: String, observedAt: Timestamp) {
            (self.hash, self.kind, self.observedAt) = (hash, kind, observedAt)
        }

        func owns(_ slot: InstallationToken.ID) -> Bool { hash == slot.installation && kind == slot.kind }
    }

    package init(digest: TokenDigest) { self.digest = digest }

    package var isOfInstallations: Bool { installation != nil || startObservedAt != nil }
    package var isKnown: Bool { owner != nil || isOfInstallations }

    /// The greatest (`observedAt`, id) owns the value (R2, R7). Returns the activity that lost the value.
    mutating func claim(for activity: ActivityID, observedAt: Timestamp) -> ActivityID? {
        let former = owner
        if let former, (observedAt, activity) <= (former.observedAt, former.activityID) { return nil }
        owner = Owner(activityID: activity, observedAt: observedAt)
        return former?.activityID == activity ? nil : former?.activityID
    }

    /// For kinds with one owner: the greatest (`observedAt`, hash, kind) owns the value (R7).
    mutating func claim(for slot: InstallationToken.ID, observedAt: Timestamp) -> InstallationOwner? {
        let (hash, kind, former) = (slot.installation, slot.kind, installation)
        if let former, (observedAt, hash, kind) <= (former.observedAt, former.hash, former.kind) { return nil }
        installation = InstallationOwner(hash: hash, kind: kind, observedAt: observedAt)
        return former?.owns(slot) == true ? nil : former
    }

    /// Why the value is not deliverable for an activity. The only definition (R2, R7, R8).
    package func withholdingReason(for claim: TokenClaim, of activity: ActivityID) -> WithholdingReason? {
        if owner?.activityID != activity { return .takenOver }
        if installation != nil { return .kindConflict }
        return accusation(of: claim.claimedAt)
    }

    /// Why the value is not deliverable for an installation. The only definition (R7, R8).
    package func withholdingReason(for claim: TokenClaim, in slot: InstallationToken) -> WithholdingReason? {
        if let installation, installation.kind != slot.id.kind { return .kindConflict }
        if slot.hasOneOwner, installation?.hash != slot.id.installation { return .takenOver }
        return accusation(of: claim.claimedAt)
    }

    /// Why feedback or a purge withholds a token claimed at `claimedAt`.
    func accusation(of claimedAt: Timestamp) -> WithholdingReason? {
        if let deadAt, claimedAt <= deadAt { return deadAt == purgedAt ? .purged : .unregistered }
        if let quarantine, claimedAt <= quarantine.at { return .quarantined }
        return nil
    }

    /// Applies a report (R8). Deaths of unknown values are remembered too.
    mutating func apply(
        _ report: TokenReport,
        to holder: Holder?,
        isGuarded: Bool,
        receivedAt now: Timestamp
    ) -> FeedbackAction {
        let time = min(report.feedback.timestamp.map(Timestamp.init) ?? now, now)
        let lastDeath = max(deadAt ?? time, time)
        if report.meaning == .dead { deadAt = lastDeath }
        guard let holder else { return isKnown ? .retired : .unknown }
        switch report.meaning {
        case .none: return .kept
        case .dead: return holder.claimedAt <= lastDeath ? .dropped : .keptNewer
        case .delivered:
            deliveredAt = now
            return .delivered
        case .suspect:
            if let quarantine, holder.claimedAt <= quarantine.at { return .quarantined }
            if isGuarded { return .guarded }
            if holder.claimedAt > time { return .keptNewer }
            quarantine = Quarantine(at: now, kind: holder.kind, reason: report.feedback.reason ?? "")
            return .quarantined
        }
    }
}

/// Why senders do not get a current token.
package enum WithholdingReason: String, Sendable, Hashable, CaseIterable {
    case takenOver = "taken-over"
    case kindConflict = "kind-conflict"
    case unregistered
    case purged
    case quarantined
}

package struct TokenDigest: Sendable, Hashable, Comparable {
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

    func precedes(_ other: TokenClaim) -> Bool { (observedAt, digest) < (other.observedAt, other.digest) }
}
