import RegistryCore

/// The identity of name-only activities, known by a `liveactivityId` and its owner: the current activity and the last
/// end.
package struct NameIdentity: Sendable, Hashable {
    package var activityID: ActivityID?
    /// The latest end. Everything observed at or before it belongs to an ended activity.
    package var endedAt: Timestamp?

    package init(activityID: ActivityID?, endedAt: Timestamp?) {
        (self.activityID, self.endedAt) = (activityID, endedAt)
    }

    /// Chooses the current activity, or a new one after an end or expiry.
    ///
    /// - Throws: `clockSkew`; `ended` if the registration was observed no later than the last end, or `notYours` if
    ///   that activity belongs to another user.
    package mutating func activity(
        of body: ActivityRegistration,
        digest: TokenDigest?,
        claimant: Claimant,
        in rows: LockedRows,
        newID: ActivityID
    ) throws(Rejection) -> ActivityID {
        let observed = body.observedAt.map(Timestamp.init)
        try Plausibility.check(
            [("/observedAt", observed), ("/startedAt", body.startedAt.map(Timestamp.init))],
            startsAt: body.startsAt.map(Timestamp.init),
            receivedAt: rows.now
        )
        let current = activityID.flatMap { rows.activity($0) }
        let ended: Rejection = current.map(claimant.mayChange) ?? true ? .ended : .notYours
        let observedAt = observed ?? rows.now
        if let end = lastEnd(of: current, in: rows), observedAt <= end { throw ended }
        guard let current else { return begin(newID) }
        let isRepeated = observed == nil && digest == current.token?.digest
        switch current.state(of: rows.installation(of: current), at: rows.now) {
        case .active, .dismissed: return current.id
        case .ended:
            if isRepeated { throw ended }
            return begin(newID)
        case .expired: return isRepeated || observedAt < current.expiresAt ? current.id : begin(newID)
        }
    }

    /// Records an end. The end of an unknown activity creates a tombstone. Returns the activity to end; nil if the
    /// current activity was observed later, because the end then belongs to an earlier activity.
    package mutating func end(
        observedAt: Timestamp?,
        in rows: LockedRows,
        newID: ActivityID
    ) throws(Rejection) -> ActivityID? {
        try Plausibility.check([("/observedAt", observedAt)], receivedAt: rows.now)
        let current = activityID.flatMap { rows.activity($0) }
        // Without a time, ends the current activity even if a fast clock observed it in the future.
        let time = observedAt ?? max(rows.now, current?.lastObservedAt ?? rows.now)
        endedAt = max(endedAt ?? time, time)
        guard let current else { return begin(newID) }
        if let observed = current.lastObservedAt, observed > time { return nil }
        return current.id
    }

    private mutating func begin(_ id: ActivityID) -> ActivityID {
        activityID = id
        return id
    }

    /// An end by activity id, or a log-out, also covers the activity's last observation.
    private func lastEnd(of current: Activity?, in rows: LockedRows) -> Timestamp? {
        guard let current else { return endedAt }
        let installation = rows.installation(of: current)
        guard current.state(of: installation, at: rows.now) == .ended else { return endedAt }
        return [endedAt, current.end?.at ?? installation?.loggedOutAt, current.lastObservedAt].compactMap(\.self).max()
    }
}
