import RegistryCore

extension LockedRows {
    /// The times alone decide an activity's state (R9); this method only counts and reports the change.
    ///
    /// - Parameters:
    ///   - previous: the preceding full state; must be earlier than `fullStateAt`.
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
                && activity.state(of: self.installation(of: activity), at: now) == .active
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
    fileprivate func wasSeen(before fullStateAt: Timestamp, since previous: Timestamp?) -> Bool {
        guard let lastObservedAt, lastObservedAt < fullStateAt else { return false }
        return previous.map { lastObservedAt >= $0 } ?? true
    }
}
