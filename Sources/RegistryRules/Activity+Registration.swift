import RegistryCore

extension Activity {
    /// The effect of a registration on the activity.
    package enum Effect: Sendable, Hashable {
        case registered
        case rotated
        case refreshed
        /// It was dismissed, expired or withheld, and is not any more.
        case reactivated
        /// Another token is later (R3).
        case superseded
        case expired
        case ended
    }

    /// An activity that becomes known by a registration.
    init(_ registration: Registration, _ times: Registration.Times, lifetime: Duration) {
        self.init(id: registration.id, startedAt: times.startedAt, expiresAt: times.startedAt + lifetime)
        move(startedAt: times.startedAt, startsAt: times.startsAt)
        keep(registration, times)
        token = registration.claim(times)
        if token != nil { confirmedAt = times.receivedAt }
    }

    /// Merges a registration. A late or rejected token changes nothing, but the registration's aliases and start still count (R0).
    mutating func merge(_ registration: Registration, _ times: Registration.Times, in installation: InstallationTimes?)
        -> Effect
    {
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

    /// Merges the claim on a token: the greatest (`observedAt`, digest) stays (R2).
    private mutating func claim(_ claim: TokenClaim?, receivedAt now: Timestamp) -> Effect {
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

    /// Merges everything but the token.
    private mutating func keep(_ registration: Registration, _ times: Registration.Times) {
        let body = registration.body
        lastObservedAt = max(lastObservedAt ?? times.observedAt, times.observedAt)
        installation.keepFirst(body.installation)
        subject.keepFirst(body.subject)
        facts.keepFirst(body.facts)
        if let aliases = body.aliases {
            self.aliases.replace(with: aliases, observedAt: times.statedAt)
        } else {
            // The default aliases never replace any.
            aliases.replace(with: body.defaultAliases, observedAt: .distantPast)
        }
        metadata.replace(with: body.metadata, observedAt: times.statedAt)
    }

    /// It was dismissed (R9), and the registration observed it no earlier than the full state.
    private func isObservedAgain(since before: Activity, in installation: InstallationTimes?) -> Bool {
        guard let fullStateAt = installation?.fullStateAt, before.installation != nil else { return false }
        return fullStateAt > before.lastObservedAt ?? .distantPast && fullStateAt <= lastObservedAt ?? .distantPast
    }

    /// Whether the activity differs in a fact, apart from token and aliases, from its earlier state.
    func hasNewFacts(since before: Activity) -> Bool {
        startedAt != before.startedAt || startsAt != before.startsAt || facts != before.facts
            || installation != before.installation
    }
}
