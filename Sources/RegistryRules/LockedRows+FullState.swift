import RegistryCore

extension LockedRows {
    /// Dismisses the activities of an installation that its full state did not list (R9). That they are dismissed follows from the
    /// times alone; this counts and reports the change.
    ///
    /// - Parameters:
    ///   - previous: the installation's last full state before this one, which must be later.
    ///   - listed: the activities that the full state listed.
    /// - Returns: the dismissed activities.
    package mutating func dismissUnlisted(
        of installation: InstallationHash,
        at fullStateAt: Timestamp,
        previous: Timestamp?,
        listed: Set<ActivityID>,
        actor: UTF8Text
    ) -> [ActivityID] {
        let dismissed = activities.values.map(\.value).filter { activity in
            activity.installation == installation && !listed.contains(activity.id)
                && activity.end == nil && activity.expiresAt > now
                && activity.wasSeen(before: fullStateAt, since: previous)
        }
        for var activity in dismissed {
            activity.revision += 1
            store(activity)
            record(NewAuditEvent(.dismissed, of: activity, by: actor))
        }
        return dismissed.map(\.id).sorted()
    }
}

extension Activity {
    /// Whether it was last observed before a full state, and was not dismissed by the previous one already.
    fileprivate func wasSeen(before fullStateAt: Timestamp, since previous: Timestamp?) -> Bool {
        guard let lastObservedAt, lastObservedAt < fullStateAt else { return false }
        return previous.map { lastObservedAt >= $0 } ?? true
    }
}
