import RegistryCore

package struct InstallationRequest: Sendable {
    package let installation: InstallationHash
    /// Nil for the time of receipt.
    package let observedAt: Timestamp?
    /// A client must name this installation.
    package let claimant: Claimant
    /// Key id or subject.
    package let actor: UTF8Text

    package init(_ installation: InstallationHash, observedAt: Timestamp?, claimant: Claimant, actor: UTF8Text) {
        self.installation = installation
        self.observedAt = observedAt
        self.claimant = claimant
        self.actor = actor
    }
}

/// The effect of a profile. A late profile is merged too (R0).
package enum ProfileOutcome: Sendable, Hashable {
    case stored
    case loggedOut
    case ofAnotherUser
}

extension LockedRows {
    /// Stores the profile (R6). A signed-in user takes over the installation.
    package mutating func put(
        _ profile: InstallationProfile,
        _ request: InstallationRequest
    ) throws(Rejection) -> ProfileOutcome {
        let hasNewOwner = try register(request)
        let (time, subject) = (request.observedAt ?? now, request.claimant.subject)
        let before = installations[request.installation]
        var installation = before
        installation.merge(profile, observedAt: time, by: subject)
        installations.store(installation)
        let hasNewAliases = installation.aliases?.value != before.aliases?.value
        if hasNewOwner || hasNewAliases || installation.metadata?.value != before.metadata?.value {
            let removed = hasNewAliases ? before.aliases?.value : nil
            record(NewAuditEvent(.installationChanged, of: installation, by: request.actor, removed: removed))
        }
        if installation.isLoggedOut(at: time) { return .loggedOut }
        return installation.belongsToAnother(than: subject) ? .ofAnotherUser : .stored
    }

    /// Registers the installation with a full state (R9).
    package mutating func registerFullState(
        _ request: InstallationRequest,
        at fullStateAt: Timestamp
    ) throws(Rejection) -> Timestamp? {
        let owner = installations[request.installation].subject
        let isNewOwner = try register(request) && owner == nil
        var installation = installations[request.installation]
        if isNewOwner { record(NewAuditEvent(.installationChanged, of: installation, by: request.actor)) }
        let previous = installation.times.fullStateAt
        installation.times.fullStateAt = max(previous ?? fullStateAt, fullStateAt)
        installations.store(installation)
        return previous
    }

    /// Removes tokens, names and user observed at or before the log-out. Returns the time of the log-out. Without
    /// `observedAt` it is at or after all records, including records of a fast clock.
    package mutating func logOut(_ request: InstallationRequest) throws(Rejection) -> Timestamp {
        var installation = try enter(request)
        let slots = installations.slots(of: request.installation)
        let records = slots.map(\.token?.observedAt) + [installation.lastObservedAt]
        let time = request.observedAt ?? records.compactMap(\.self).reduce(now, max)
        if !installation.isLoggedOut(at: time) {
            record(NewAuditEvent(.loggedOut, of: installation, by: request.actor))
            // A repeated or late log-out must not remove leases of the next user.
            installations.voidsLeases = true
        }
        for var slot in slots where slot.removeToken(observedBy: time) {
            installations.store(slot)
            record(NewAuditEvent(.deleted, of: slot, of: installation, by: request.actor))
        }
        installation.logOut(at: time)
        installations.store(installation)
        return time
    }

    /// Returns whether the owner, or anything of another user, changed. Records only the latter.
    private mutating func register(_ request: InstallationRequest) throws(Rejection) -> Bool {
        try checkTime(request)
        try checkErasure(request)
        var installation = installations[request.installation]
        let owner = installation.subject
        var takeover: Installation.Takeover?
        if let subject = request.claimant.subject {
            takeover = installation.register(by: subject, observedAt: request.observedAt ?? now)
        }
        installations.store(installation)
        guard let takeover else { return installation.subject != owner }
        let kind: NewAuditEvent.Kind = takeover.changesOwner ? .takenOver : .installationChanged
        record(NewAuditEvent(kind, of: installation, by: request.actor, removed: takeover.removedAliases))
        if takeover.changesOwner { installations.voidsLeases = true }
        return true
    }

    /// For requests that do not register the installation.
    func enter(_ request: InstallationRequest) throws(Rejection) -> Installation {
        try checkTime(request)
        var installation = installations[request.installation]
        try installation.adopt(by: request.claimant.subject, observedAt: request.observedAt)
        try checkErasure(request)
        return installation
    }

    private func checkTime(_ request: InstallationRequest) throws(Rejection) {
        try Plausibility.check([("/observedAt", request.observedAt)], receivedAt: now)
    }

    /// Installations' aliases and tokens have no lifetime, so erasures of any age count.
    private func checkErasure(_ request: InstallationRequest) throws(Rejection) {
        if let erasedAt = installations.erasedAt, erasedAt >= request.observedAt ?? now { throw .erased }
    }

    /// The times alone decide an activity's state (R9); this method only counts and reports the change.
    ///
    /// - Parameter previous: the preceding full state; must be earlier than `fullStateAt`.
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
