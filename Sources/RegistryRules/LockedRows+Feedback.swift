import RegistryCore

extension LockedRows {
    /// Applies reports in order (R8). The burst guards judge the batch as a whole.
    ///
    /// - Parameter guards: the guards of all kinds if a report is suspect. If a guard may trip, the values quarantined
    ///   in its window must be locked too.
    package mutating func apply(
        _ reports: [TokenReport],
        guards: inout [BurstGuard],
        by actor: UTF8Text
    ) -> (decisions: [FeedbackDecision], trippedKinds: [String]) {
        let quarantines = newQuarantines(by: reports)
        var trippedKinds: [String] = []
        for index in guards.indices {
            let kind = guards[index].kind
            guard guards[index].count(quarantines[kind] ?? 0, at: now) else { continue }
            trippedKinds.append(kind)
            releaseBurst(of: kind, by: actor)
        }
        let guardedKinds = guards.filter { $0.isOn(at: now) }.map(\.kind)
        let decisions = reports.map { apply($0, guarding: guardedKinds, by: actor) }
        return (decisions, trippedKinds)
    }

    @discardableResult
    package mutating func release(_ digest: TokenDigest, by actor: UTF8Text) -> Bool {
        guard var value = values[digest]?.value, value.quarantine != nil else { return false }
        value.quarantine = nil
        replaceValue(with: value, by: actor)
        return true
    }

    /// The number of values that the reports would quarantine if no guard were on, by kind.
    private func newQuarantines(by reports: [TokenReport]) -> [String: Int] {
        guard reports.contains(where: { $0.meaning == .suspect }) else { return [:] }
        var trial = self
        for report in reports { _ = trial.apply(report, guarding: [], by: "") }
        let events = trial.events.dropFirst(events.count).filter { $0.kind == .quarantined }
        let kinds = Set(events.compactMap(\.tokenDigest)).compactMap { trial.values[$0]?.value.quarantine?.kind }
        return Dictionary(kinds.map { ($0, 1) }, uniquingKeysWith: +)
    }

    private mutating func releaseBurst(of kind: String, by actor: UTF8Text) {
        let burst = values.values.map(\.value).filter { value in
            value.quarantine.map { $0.kind == kind && $0.at > now - BurstGuard.window } ?? false
        }
        for value in burst.sorted(by: { $0.digest < $1.digest }) { release(value.digest, by: actor) }
    }

    private mutating func apply(
        _ report: TokenReport,
        guarding kinds: [String],
        by actor: UTF8Text
    ) -> FeedbackDecision {
        let before = values[report.digest]?.value ?? TokenValue(digest: report.digest)
        var value = before
        let holder = holder(of: before)
        let isGuarded = holder.map { kinds.contains($0.kind) } ?? false
        let action = value.apply(report, to: holder, isGuarded: isGuarded, receivedAt: now)
        // A repeated report writes again (R1).
        if value != before || report.meaning == .dead || action == .quarantined { replaceValue(with: value, by: actor) }
        return FeedbackDecision(action: action, meaning: report.meaning, kind: holder?.kind)
    }

    /// The kind and latest claim of the tokens that have the value now. A dismissed activity's token counts, because
    /// the activity may come back.
    private func holder(of value: TokenValue) -> TokenValue.Holder? {
        var holder = runningOwner(of: value)?.token.map {
            TokenValue.Holder(kind: TokenKind.update.name, claimedAt: $0.claimedAt)
        }
        for slot in slots(with: value) {
            guard let token = slot.token else { continue }
            holder = TokenValue.Holder(
                kind: max(holder?.kind ?? slot.id.kind, slot.id.kind),
                claimedAt: max(holder?.claimedAt ?? token.claimedAt, token.claimedAt)
            )
        }
        return holder
    }

    private func slots(with value: TokenValue) -> [InstallationToken] {
        installations.slots(with: value.digest).filter { slot in
            value.installation.map { $0.owns(slot.id) } ?? !slot.hasOneOwner
        }
    }

    private func runningOwner(of value: TokenValue) -> Activity? {
        guard let owner = value.owner, value.installation == nil else { return nil }
        guard let activity = activity(owner.activityID), activity.token?.digest == value.digest else { return nil }
        return activity.end == nil && activity.expiresAt > now ? activity : nil
    }

    private mutating func replaceValue(with value: TokenValue, by actor: UTF8Text) {
        let before = values[value.digest]?.value ?? TokenValue(digest: value.digest)
        store(value)
        let isChanged = before.deadAt != value.deadAt || before.quarantine != value.quarantine
        // Slots that earlier reports did not reach, because more share the value than one request locks.
        let former = isChanged ? before : TokenValue(digest: value.digest)
        for var slot in slots(with: value) {
            guard let token = slot.token else { continue }
            let withheld = value.withholdingReason(for: token, in: slot)
            guard slot.withheld != withheld else { continue }
            slot.withheld = withheld
            installations.store(slot)
            guard let kind = NewAuditEvent.Kind(from: former, to: value, claimedAt: token.claimedAt) else { continue }
            record(NewAuditEvent(kind, of: slot, of: installations[slot.id.installation], by: actor))
        }
        guard isChanged else { return }
        // A later request may schedule an expired activity again, so its row is updated too.
        guard let owner = value.owner, var activity = activity(owner.activityID), activity.end == nil else { return }
        guard let token = activity.token, token.digest == value.digest else { return }
        activity.withheld = value.withholdingReason(for: token, of: activity.id)
        if runningOwner(of: value) != nil,
            let kind = NewAuditEvent.Kind(from: before, to: value, claimedAt: token.claimedAt)
        {
            activity.revision += 1
            record(NewAuditEvent(kind, of: activity, by: actor))
        }
        store(activity, isRequested: false)
    }
}

extension NewAuditEvent.Kind {
    /// The event if a change of the value withholds a token claimed at `claimedAt`, or makes it deliverable again.
    fileprivate init?(from before: TokenValue, to after: TokenValue, claimedAt: Timestamp) {
        switch (before.accusation(of: claimedAt), after.accusation(of: claimedAt)) {
        case (nil, .quarantined): self = .quarantined
        case (nil, .unregistered), (.quarantined, .unregistered): self = .dropped
        case (.quarantined, nil): self = .released
        default: return nil
        }
    }
}

package struct TokenReport: Sendable {
    package let digest: TokenDigest
    package let feedback: FeedbackReport
    package var meaning: FeedbackMeaning { feedback.meaning }

    package init(_ report: FeedbackReport, digest: TokenDigest) { (feedback, self.digest) = (report, digest) }
}

package struct FeedbackDecision: Sendable, Hashable {
    package let action: FeedbackAction
    package let meaning: FeedbackMeaning
    package let kind: String?

    /// Whether the response mentions the other environment if the value is known there.
    package var mentionsElsewhere: Bool { kind == nil || meaning == .suspect }

    package func result(isKnownIn elsewhere: APNSEnvironment?) -> FeedbackResult {
        guard mentionsElsewhere, let place = elsewhere?.rawValue else {
            return FeedbackResult(action: action, detail: detail)
        }
        let hint = kind == nil ? " It is known in \(place)." : " The value is registered in \(place), too."
        return FeedbackResult(action: action, detail: detail + hint)
    }

    private var detail: String {
        let token = kind.map { "The \($0) token" } ?? "The value"
        return switch action {
        case .dropped: "\(token) is dead and is no longer returned to senders."
        case .keptNewer: "\(token) is kept because a client claimed it later."
        case .quarantined: "\(token) is quarantined until a client confirms it or an admin releases it."
        case .guarded: "\(token) is kept. Too many were reported at once: check the sender's topic and key."
        case .kept: "\(token) is kept. The status and reason are not about the token."
        case .delivered: "\(token) works."
        case .retired: "The token is no longer current. Resolve the alias again."
        case .unknown: "The value was never registered here."
        }
    }
}
