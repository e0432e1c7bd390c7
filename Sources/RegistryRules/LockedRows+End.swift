import RegistryCore

extension LockedRows {
    /// For an unknown activity, creates a tombstone that belongs to the claimant (R4).
    ///
    /// - Parameter observedAt: nil for the time of receipt.
    /// - Returns: whether the activity was active or dismissed.
    package mutating func end(
        _ id: ActivityID,
        reason: EndReason,
        observedAt: Timestamp?,
        claimant: Claimant,
        actor: UTF8Text
    ) throws(Rejection) -> Bool {
        try Plausibility.check([("/observedAt", observedAt)], receivedAt: now)
        let known = activities[id]?.value
        if let known, !claimant.mayChange(known) { throw .notYours }
        var activity = known ?? Activity(id: id, startedAt: now, expiresAt: now + lifetime)
        let wasRunning = known.map { $0.end == nil && $0.expiresAt > now } ?? false
        let isFirst = activity.end(at: observedAt ?? now, reason: reason)
        if known == nil { activity.revision = 1 }
        activity.installation.keepFirst(claimant.installation)
        activity.subject.keepFirst(claimant.subject)
        store(activity)
        if isFirst { record(NewAuditEvent(.ended, of: activity, by: actor)) }
        return wasRunning
    }
}
