import RegistryCore

extension LockedRows {
    /// Ends an activity, known or not (R4). The end of an unknown activity creates its tombstone, which belongs to the claimant.
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
