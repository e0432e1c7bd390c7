import RegistryCore

/// Everything known about one token value.
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
    package var handle: RowHandle?

    /// Withholds a token until a client claims it later or an admin releases it (R8).
    package struct Quarantine: Sendable, Hashable {
        package let at: Timestamp
        package let kind: String
        package let reason: UTF8Text

        package init(at: Timestamp, kind: String, reason: UTF8Text) {
            self.at = at
            self.kind = kind
            self.reason = reason
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
            self.activityID = activityID
            self.observedAt = observedAt
        }
    }

    package struct InstallationOwner: Sendable, Hashable {
        package let hash: InstallationHash
        package let kind: String
        package var observedAt: Timestamp

        package init(hash: InstallationHash, kind: String, observedAt: Timestamp) {
            self.hash = hash
            self.kind = kind
            self.observedAt = observedAt
        }

        func owns(_ slot: InstallationToken.ID) -> Bool { hash == slot.installation && kind == slot.kind }
    }

    package init(digest: TokenDigest) { self.digest = digest }

    package var isOfInstallations: Bool { installation != nil || startObservedAt != nil }
    package var isKnown: Bool { owner != nil || isOfInstallations }

    /// The greatest (`observedAt`, id) owns the value (R2, R7).
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

    /// For kinds with one owner: the greatest (`observedAt`, hash, kind) owns the value (R7).
    ///
    /// - Returns: the owner that lost the value.
    mutating func claim(for slot: InstallationToken.ID, observedAt: Timestamp) -> InstallationOwner? {
        let new = InstallationOwner(hash: slot.installation, kind: slot.kind, observedAt: observedAt)
        guard let current = installation else {
            installation = new
            return nil
        }
        guard (current.observedAt, current.hash, current.kind) < (observedAt, new.hash, new.kind) else { return nil }
        installation = new
        return current.owns(slot) ? nil : current
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
        let time = min(report.timestamp ?? now, now)
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
            quarantine = Quarantine(at: time, kind: holder.kind, reason: report.reason ?? "")
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
