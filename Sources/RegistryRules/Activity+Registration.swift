import RegistryCore

extension Activity {
    init(_ registration: Registration, _ times: Registration.Times, lifetime: Duration) {
        self.init(id: registration.id, startedAt: times.startedAt, expiresAt: times.startedAt + lifetime)
        move(startedAt: times.startedAt, startsAt: times.startsAt)
        keep(registration, times)
        token = registration.claim(times)
        if token != nil { confirmedAt = times.receivedAt }
    }

    /// Merges a registration. If its token is late or rejected, its aliases and start still count (R0).
    mutating func merge(
        _ registration: Registration,
        _ times: Registration.Times,
        in installation: InstallationTimes?
    ) -> RegistrationEffect {
        let (now, before) = (times.receivedAt, self)
        move(startedAt: times.startedAt, startsAt: times.startsAt)
        keep(registration, times)
        if expiresAt > now { expiryRecordedAt = nil }
        let effect = claim(registration.claim(times), receivedAt: now)
        if end != nil { return .ended }
        if expiresAt <= now { return .expired }
        let isBack = before.expiresAt <= now || isObservedAgain(since: before, in: installation)
        return effect == .refreshed && isBack ? .reactivated : effect
    }

    /// Merges the claim on a token. The greatest (`observedAt`, digest) wins (R2).
    private mutating func claim(_ claim: TokenClaim?, receivedAt now: Timestamp) -> RegistrationEffect {
        guard var claim else { return .refreshed }
        defer { if isOver { token?.token = nil } }
        if end == nil, token.map({ $0.digest == claim.digest || $0.precedes(claim) }) ?? true {
            confirmedAt = max(confirmedAt ?? now, now)
        }
        guard let current = token else {
            token = claim
            return .registered
        }
        if current.digest == claim.digest {
            claim.observedAt = max(current.observedAt, claim.observedAt)
            claim.claimedAt = max(current.claimedAt, claim.claimedAt)
            token = claim
            return .refreshed
        }
        guard current.precedes(claim) else { return .superseded }
        token = claim
        return .rotated
    }

    private mutating func keep(_ registration: Registration, _ times: Registration.Times) {
        let body = registration.body
        lastObservedAt = max(lastObservedAt ?? times.observedAt, times.observedAt)
        installation.keepFirst(body.installation)
        subject.keepFirst(body.subject)
        facts.keepFirst(body.facts)
        if let aliases = body.aliases {
            self.aliases.replace(with: aliases, observedAt: times.statedAt)
        } else {
            // Default aliases never replace stored aliases.
            aliases.replace(with: body.defaultAliases, observedAt: .distantPast)
        }
        metadata.replace(with: body.metadata, observedAt: times.statedAt)
    }

    /// Whether the activity was dismissed (R9) and this registration observed it no earlier than the full state.
    private func isObservedAgain(since before: Activity, in installation: InstallationTimes?) -> Bool {
        guard let fullStateAt = installation?.fullStateAt, before.installation != nil,
            let former = before.lastObservedAt, let lastObservedAt
        else { return false }
        return former < fullStateAt && fullStateAt <= lastObservedAt
    }

    /// Whether a fact changed, apart from token and aliases.
    func hasNewFacts(since before: Activity) -> Bool {
        startedAt != before.startedAt || startsAt != before.startsAt || facts != before.facts
            || installation != before.installation || subject != before.subject
            || metadata?.value != before.metadata?.value
    }
}
