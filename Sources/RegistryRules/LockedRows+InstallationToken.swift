import RegistryCore

extension LockedRows {
    /// Registers a token of an installation (R3). If its kind has one owner, retires the value elsewhere (R7).
    package mutating func register(
        _ token: PushToken,
        _ digest: TokenDigest,
        in id: InstallationToken.ID,
        hasOneOwner: Bool,
        _ request: InstallationRequest
    ) throws(Rejection) -> RegistrationEffect {
        let installation = try enter(request)
        var slot = try installations.slot(id, hasOneOwner: hasOneOwner)
        withhold(&slot, digest)
        let wasWithheld = slot.withheld != nil
        let claim = slot.claim(token, digest, observedAt: request.observedAt, receivedAt: now)
        var effect = slot.merge(claim, loggedOutAt: installation.times.loggedOutAt, receivedAt: now)
        let losers = self.claim(digest, for: slot, request)
        withhold(&slot, digest)
        if effect == .refreshed, wasWithheld, slot.withheld == nil { effect = .reactivated }
        installations.store(installation)
        installations.store(slot)
        record(effect, of: slot, installation, request.actor)
        if let former = losers.former {
            for slot in installations.slots(with: digest) where former.owns(slot.id) {
                takeOver(digest, slot, request.actor)
            }
        }
        if slot.isTakenOver, effect.event != nil {
            record(NewAuditEvent(.takenOver, of: slot, of: installation, by: request.actor))
        }
        if losers.isNewKind { retire(digest, request.actor) }
        return effect
    }

    /// Deletes a token observed at or before the request. Creates a tombstone for an unknown slot.
    package mutating func deleteToken(
        in id: InstallationToken.ID,
        hasOneOwner: Bool,
        _ request: InstallationRequest
    ) throws(Rejection) {
        let installation = try enter(request)
        var slot = try installations.slot(id, hasOneOwner: hasOneOwner)
        // Without a time, deletes everything, including tokens that a fast clock observed.
        let isDeleted = slot.delete(observedAt: request.observedAt ?? max(now, slot.token?.observedAt ?? now))
        installations.store(installation)
        installations.store(slot)
        if isDeleted { record(NewAuditEvent(.deleted, of: slot, of: installation, by: request.actor)) }
    }

    /// Applies the claim to the value. Without `observedAt`, a token that did not become current makes no claim.
    /// Returns the owner that lost the value, and whether installations claim the value for the first time.
    private mutating func claim(
        _ digest: TokenDigest,
        for slot: InstallationToken,
        _ request: InstallationRequest
    ) -> (former: TokenValue.InstallationOwner?, isNewKind: Bool) {
        let current = slot.token.flatMap { $0.digest == digest ? $0.observedAt : nil }
        guard let time = request.observedAt ?? current else { return (nil, false) }
        var value = values[digest]?.value ?? TokenValue(digest: digest)
        defer { store(value) }
        guard slot.hasOneOwner else {
            value.startObservedAt = max(value.startObservedAt ?? time, time)
            return (nil, false)
        }
        let isNewKind = value.installation == nil
        return (value.claim(for: slot.id, observedAt: time), isNewKind)
    }

    private func withhold(_ slot: inout InstallationToken, _ digest: TokenDigest) {
        guard let token = slot.token, token.digest == digest else { return }
        // An erased value has no owner.
        let value = values[digest]?.value ?? TokenValue(digest: digest)
        slot.withheld = token.token == nil ? nil : value.withholdingReason(for: token, in: slot)
    }

    /// Withholds a value from its activity and from start tokens, because an installation has claimed it as a token
    /// with one owner (R7).
    private mutating func retire(_ digest: TokenDigest, _ actor: UTF8Text) {
        if let id = values[digest]?.value.owner?.activityID {
            if lockedOwners.contains(id) { retire(digest, id, actor) } else { missingIDs.insert(id) }
        }
        for slot in installations.slots(with: digest) where !slot.hasOneOwner { takeOver(digest, slot, actor) }
    }

    private mutating func retire(_ digest: TokenDigest, _ id: ActivityID, _ actor: UTF8Text) {
        guard var loser = activity(id), loser.end == nil else { return }
        guard let token = loser.token, token.digest == digest else { return }
        loser.withheld = values[digest]?.value.withholdingReason(for: token, of: id)
        store(loser)
        if loser.expiresAt > now { record(NewAuditEvent(.takenOver, of: loser, by: actor)) }
    }

    private mutating func takeOver(_ digest: TokenDigest, _ slot: InstallationToken, _ actor: UTF8Text) {
        var loser = slot
        withhold(&loser, digest)
        installations.store(loser)
        record(NewAuditEvent(.takenOver, of: loser, of: installations[loser.id.installation], by: actor))
    }

    private mutating func record(
        _ effect: RegistrationEffect,
        of slot: InstallationToken,
        _ installation: Installation,
        _ actor: UTF8Text
    ) {
        guard let kind = effect.event else { return }
        record(NewAuditEvent(kind, of: slot, of: installation, by: actor))
        if slot.withheld == .unregistered || slot.withheld == .purged {
            record(NewAuditEvent(.dropped, of: slot, of: installation, by: actor))
        }
    }
}

extension InstallationToken {
    fileprivate var isTakenOver: Bool { hasOneOwner && (withheld == .takenOver || withheld == .kindConflict) }
}
