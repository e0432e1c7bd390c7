import RegistryCore

/// Requests are folded into the rows in order; the writer compares each row with its original.
package struct LockedRows: Sendable {
    package let now: Timestamp
    /// Whether the scope has recent erasures. Names in requests must then be checked.
    package let hasErasures: Bool
    let settings: AppSettings
    /// A row and its state before the first request; `original` is nil for a new row.
    package struct Row<Value: Sendable>: Sendable {
        package let original: Value?
        package var value: Value
        /// Every accepted request sets this, even without a change, because every acknowledged request has written
        /// (R1).
        package var isWritten = false

        mutating func write(_ value: Value, isRequested: Bool = true) {
            self.value = value
            isWritten = isWritten || isRequested
        }
    }

    package private(set) var activities: [ActivityID: Row<Activity>]
    package private(set) var values: [TokenDigest: Row<TokenValue>]
    private let times: [InstallationHash: InstallationTimes]
    package var installations: InstallationRows
    /// Activities that were found before the lock. One without a row has been deleted; another activity without a row may
    /// have been inserted after the lock of activities and before the lock of values.
    let lockedOwners: Set<ActivityID>
    package private(set) var events: [NewAuditEvent] = []
    /// Activities that lost a token but are not locked. The transaction must start again with them.
    package internal(set) var missingIDs: Set<ActivityID> = []

    package init(
        now: Timestamp,
        hasErasures: Bool,
        settings: AppSettings,
        lockedOwners: Set<ActivityID>,
        activities: [Activity],
        values: [TokenValue],
        times: [InstallationHash: InstallationTimes],
        installations: InstallationRows = InstallationRows()
    ) {
        self.now = now
        self.hasErasures = hasErasures
        self.settings = settings
        self.lockedOwners = lockedOwners
        self.activities = Dictionary(uniqueKeysWithValues: activities.map { ($0.id, Row(original: $0, value: $0)) })
        self.values = Dictionary(uniqueKeysWithValues: values.map { ($0.digest, Row(original: $0, value: $0)) })
        self.times = times
        self.installations = installations
    }

    package var isChanged: Bool { activities.values.contains(where: \.isWritten) }

    package func installation(of activity: Activity) -> InstallationTimes? {
        activity.installation.flatMap { times[$0] }
    }

    package func activity(_ id: ActivityID) -> Activity? { activities[id]?.value }

    /// Folds a registration into the rows (R0).
    ///
    /// - Throws: a rejection. With `ended`, `expired`, `superseded` and `withheld` the registration is still merged.
    package mutating func register(
        _ registration: Registration,
        isErased: (Timestamp) -> Bool
    ) throws(Rejection) -> RegistrationOutcome {
        let known = activities[registration.id]?.value
        let value = registration.digest.flatMap { values[$0]?.value }
        try registration.checkTimes(receivedAt: now)
        if let known, !registration.claimant.mayChange(known) { throw .notYours }
        let logOut = (known?.installation ?? registration.body.installation).flatMap { self.times[$0]?.loggedOutAt }
        let times = registration.times(for: known, value: value, logOut, receivedAt: now)
        try registration.checkLifetime(of: known, settings, times)
        if isErased(times.statedAt) { throw .erased }
        var activity = known ?? Activity(registration, times, lifetime: settings.activityLifetime)
        var effect =
            known == nil ? .registered : activity.merge(registration, times, in: installation(of: activity))
        let loser = claim(registration, for: activity, times)
        let wasWithheld = activity.withheld
        withhold(&activity, registration.digest)
        if effect == .refreshed, wasWithheld != nil, activity.withheld == nil { effect = .reactivated }
        if let known, activity.isChangedForSenders(since: known, effect) { activity.revision += 1 }
        store(activity)
        record(effect, of: activity, since: known, registration)
        if let loser { takeOver(loser, registration) }
        return try outcome(effect, of: activity, registration)
    }

    /// For an unknown activity, creates a tombstone that belongs to the claimant (R4).
    ///
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
        var activity = known ?? Activity(id: id, startedAt: now, expiresAt: now + settings.activityLifetime)
        let wasRunning = known.map { $0.end == nil && $0.expiresAt > now } ?? false
        let isChanged = activity.end(at: observedAt ?? now, reason: reason)
        if known == nil { activity.revision = 1 }
        activity.installation.keepFirst(claimant.installation)
        activity.subject.keepFirst(claimant.subject)
        store(activity)
        if isChanged { record(NewAuditEvent(.ended, of: activity, by: actor)) }
        return wasRunning
    }

    /// Applies the claim to the value. Without `observedAt`, a token that is not current makes no claim.
    private mutating func claim(
        _ registration: Registration,
        for activity: Activity,
        _ times: Registration.Times
    ) -> ActivityID? {
        guard let digest = registration.digest else { return nil }
        guard registration.observedAt != nil || activity.token?.digest == digest else { return nil }
        return values[digest, default: Row(original: nil, value: TokenValue(digest: digest))].value
            .claim(for: activity.id, observedAt: times.observedAt)
    }

    private func withhold(_ activity: inout Activity, _ digest: TokenDigest?) {
        guard let digest, let token = activity.token, token.digest == digest else { return }
        activity.withheld = values[digest]?.value.withholdingReason(for: token, of: activity.id)
    }

    /// - Parameter isRequested: false if only the withholding reason and revision change, because of the token's value.
    mutating func store(_ activity: Activity, isRequested: Bool = true) {
        activities[activity.id, default: Row(original: nil, value: activity)].write(activity, isRequested: isRequested)
    }

    mutating func store(_ value: TokenValue) {
        values[value.digest, default: Row(original: nil, value: value)].write(value)
    }

    package mutating func record(_ event: NewAuditEvent) { events.append(event) }

    private mutating func takeOver(_ id: ActivityID, _ registration: Registration) {
        guard var loser = activities[id]?.value else {
            if !lockedOwners.contains(id) { missingIDs.insert(id) }
            return
        }
        guard loser.token?.digest == registration.digest, loser.end == nil else { return }
        loser.withheld = .takenOver
        store(loser)
        events.append(NewAuditEvent(.takenOver, of: loser, by: registration.actor))
    }

    private mutating func record(
        _ effect: RegistrationEffect,
        of activity: Activity,
        since known: Activity?,
        _ registration: Registration
    ) {
        func event(_ kind: NewAuditEvent.Kind, removed aliases: AliasSet? = nil) -> NewAuditEvent {
            NewAuditEvent(kind, of: activity, by: registration.actor, removed: aliases)
        }
        let kind = effect.event
        if let kind { events.append(event(kind)) }
        if activity.withheld == .takenOver, kind != nil, registration.digest != nil { events.append(event(.takenOver)) }
        let isDead = activity.withheld == .unregistered || activity.withheld == .purged
        if isDead, effect == .registered || effect == .rotated { events.append(event(.dropped)) }
        guard let known, effect != .ended, effect != .expired else { return }
        let removed = known.aliases?.value == activity.aliases?.value ? nil : known.aliases?.value
        if kind != nil {
            if removed != nil { events.append(event(.aliasesChanged, removed: removed)) }
        } else if known.aliases?.value != activity.aliases?.value {
            events.append(event(.aliasesChanged, removed: removed))
        } else if activity.hasNewFacts(since: known) {
            events.append(event(.changed))
        }
    }

    private func outcome(
        _ effect: RegistrationEffect,
        of activity: Activity,
        _ registration: Registration
    ) throws(Rejection) -> RegistrationOutcome {
        // An activity that started before its installation's log-out has ended, although its row does not show it.
        if activity.state(of: installation(of: activity), at: now) == .ended { throw .ended }
        if effect == .expired { throw .expired }
        if effect == .superseded { throw .superseded }
        if registration.digest != nil, let reason = activity.withheld, reason != .quarantined {
            throw .withheld(reason)
        }
        return effect.outcome
    }
}

/// The ctid of a locked row, for the store's later write. Rules do not read it. New rows have none.
package struct RowPosition: Sendable, Hashable {
    package let page: UInt32
    package let item: UInt16

    package init(page: UInt32, item: UInt16) { (self.page, self.item) = (page, item) }
}

extension Activity {
    /// Whether senders see a change: the token, its times, a fact, or that it is deliverable again.
    fileprivate func isChangedForSenders(since before: Activity, _ effect: RegistrationEffect) -> Bool {
        token?.digest != before.token?.digest || startedAt != before.startedAt || startsAt != before.startsAt
            || facts != before.facts || effect == .reactivated
    }
}
