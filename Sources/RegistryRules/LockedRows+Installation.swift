import RegistryCore

/// The facts that all requests about one installation have in common.
package struct InstallationRequest: Sendable {
    package let installation: InstallationHash
    /// Nil for the time of receipt.
    package let observedAt: Timestamp?
    package let claimant: Claimant
    /// Key id or subject, for the audit.
    package let actor: UTF8Text

    package init(_ installation: InstallationHash, observedAt: Timestamp?, claimant: Claimant, actor: UTF8Text) {
        self.installation = installation
        self.observedAt = observedAt
        self.claimant = claimant
        self.actor = actor
    }
}

/// The effect of a profile. A late one is merged, too (R0).
package enum ProfileOutcome: Sendable, Hashable {
    case stored
    /// The installation logged out later.
    case loggedOut
    /// Another user registered the installation later.
    case ofAnotherUser
}

extension LockedRows {
    /// Stores the profile by which an installation's tokens are found (R6). A signed-in user takes the installation over.
    package mutating func put(
        _ profile: InstallationProfile,
        _ request: InstallationRequest
    ) throws(Rejection) -> ProfileOutcome {
        let hasTakenOver = try register(request)
        let (time, subject) = (request.observedAt ?? now, request.claimant.subject)
        let before = installations[request.installation]
        var installation = before
        installation.merge(profile, observedAt: time, by: subject)
        installations.store(installation)
        let hasNewAliases = installation.aliases?.value != before.aliases?.value
        if hasTakenOver || hasNewAliases || installation.metadata?.value != before.metadata?.value {
            let removed = hasNewAliases ? before.aliases?.value : nil
            record(NewAuditEvent(.installationChanged, of: installation, by: request.actor, removed: removed))
        }
        if installation.isLoggedOut(at: time) { return .loggedOut }
        return installation.belongsToAnother(than: subject) ? .ofAnotherUser : .stored
    }

    /// Registers the installation with a full state (R9).
    ///
    /// - Returns: its last full state before.
    package mutating func registerFullState(
        _ request: InstallationRequest,
        at fullStateAt: Timestamp
    ) throws(Rejection) -> Timestamp? {
        _ = try register(request)
        var installation = installations[request.installation]
        let previous = installation.times.fullStateAt
        installation.times.fullStateAt = max(previous ?? fullStateAt, fullStateAt)
        installations.store(installation)
        return previous
    }

    /// Logs the installation out: its tokens, names and user are removed, as far as they were observed by then.
    ///
    /// - Returns: the time of the log-out. Without `observedAt` it is later than all records, also those of a fast clock.
    package mutating func logOut(_ request: InstallationRequest) throws(Rejection) -> Timestamp {
        var installation = try enter(request)
        let slots = installations.slots(of: request.installation)
        let records = slots.map(\.token?.observedAt) + [installation.lastObservedAt]
        let time = request.observedAt ?? records.compactMap(\.self).reduce(now, max)
        if !installation.isLoggedOut(at: time) {
            record(NewAuditEvent(.loggedOut, of: installation, by: request.actor))
            // A repeated or late log-out removes no lease of the next user.
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

    /// Checks a request that registers the installation, and records a takeover.
    ///
    /// - Returns: whether anything of another user changed.
    private mutating func register(_ request: InstallationRequest) throws(Rejection) -> Bool {
        try checkTime(request)
        try checkErasure(request)
        var installation = installations[request.installation]
        var takeover: Installation.Takeover?
        if let subject = request.claimant.subject {
            takeover = installation.register(by: subject, observedAt: request.observedAt ?? now)
        }
        installations.store(installation)
        guard let takeover else { return false }
        let kind: NewAuditEvent.Kind = takeover.changesOwner ? .takenOver : .installationChanged
        record(NewAuditEvent(kind, of: installation, by: request.actor, removed: takeover.removedAliases))
        if takeover.changesOwner { installations.voidsLeases = true }
        return true
    }

    /// Checks a request that changes records of the installation without registering it.
    ///
    /// - Throws: `clockSkew`, `notYours`, `erased`.
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

    /// An installation's aliases and tokens have no lifetime, so old erasures count, too.
    private func checkErasure(_ request: InstallationRequest) throws(Rejection) {
        if let erasedAt = installations.erasedAt, erasedAt >= request.observedAt ?? now { throw .erased }
    }
}
