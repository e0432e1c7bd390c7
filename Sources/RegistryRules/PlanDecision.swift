import RegistryCore

/// The facts about an installation that decide a sender's plan, apart from the lease.
package struct PlanFacts: Sendable, Hashable {
    package let installation: InstallationHash
    /// The running activity with the plan's alias; if several run, the one to decide about.
    package var running: RunningActivity?
    /// A newer activity that also runs.
    package var newer: RunningActivity?
    /// The last registration of an activity with the alias.
    package var registeredAt: Timestamp?
    /// When the newest activity with the alias became known.
    package var newestAt: Timestamp?
    /// The user dismissed the newest activity with the alias.
    package var wasDismissed = false
    package var startToken: PushToken?
    package var startConfirmedAt: Timestamp?
    package var deviceToken: PushToken?

    package struct RunningActivity: Sendable, Hashable {
        package let deliverable: ResolvedActivity?
        /// Why it is not deliverable.
        package let reason: TokenAvailability?
        package let createdAt: Timestamp
        /// Greater for an activity that became known later.
        package let key: Int64

        package init(deliverable: ResolvedActivity?, reason: TokenAvailability?, createdAt: Timestamp, key: Int64 = 0) {
            self.deliverable = deliverable
            self.reason = reason
            self.createdAt = createdAt
            self.key = key
        }
    }

    /// How long to wait for the first token of an activity.
    fileprivate static let tokenPatience = Duration.seconds(60)

    package init(installation: InstallationHash) { self.installation = installation }

    /// The facts for an older activity of the phone; nil if it has ended.
    package func about(_ older: RunningActivity) -> PlanFacts? {
        guard let running, running.key >= older.key else { return nil }
        var facts = self
        (facts.running, facts.newer) = (older, running.key > older.key ? running : nil)
        return facts
    }
}

package enum PlanDecision: Sendable, Hashable {
    /// A later plan may renew the activity.
    case update(ResolvedActivity, retryAt: Timestamp? = nil)
    case wait(PlanReason, until: Timestamp)
    case start(PushToken, Lease, replaces: ResolvedActivity? = nil)
    case end(ResolvedActivity)
    case alert(PlanReason, PushToken?)
    case none(PlanReason)

    package var lease: Lease? { if case .start(_, let lease, _) = self { lease } else { nil } }

    package func isDue(at now: Timestamp) -> Bool {
        if case .update(_, let renewal?) = self { renewal <= now } else { false }
    }
}

extension PlanRequest {
    /// Decides what to push, in the order of the guide for senders.
    package func decide(
        _ phone: PlanFacts,
        _ lease: Lease?,
        hasChannel: Bool,
        newID: @autoclosure () -> LeaseID,
        at now: Timestamp
    ) -> PlanDecision {
        // 1. An activity with the alias runs.
        if let activity = phone.running {
            let decision = decide(activity, deviceToken: phone.deviceToken, hasChannel: hasChannel, at: now)
            guard case .update(let old, let renewal?) = decision, renewal <= now else { return decision }
            return renew(old, on: phone, lease, newID: newID(), at: now)
        }
        return start(on: phone, lease, newID: newID(), at: now)
    }

    /// Decides what to push to a running activity, which may be due for renewal.
    package func decide(
        _ activity: PlanFacts.RunningActivity,
        deviceToken: PushToken?,
        hasChannel: Bool,
        at now: Timestamp
    ) -> PlanDecision {
        if let running = activity.deliverable { return .update(running, retryAt: renewalTime(of: running)) }
        switch activity.reason {
        case .channel: return .none(.channel)
        case .noPush: return .none(.noPush)
        case .noToken where hasChannel: return .none(.channel)
        default: break
        }
        let end = activity.createdAt + PlanFacts.tokenPatience
        return end > now ? .wait(.tokenPending, until: end) : .alert(.noUpdateToken, deviceToken)
    }

    /// Nil if the activity is not renewed, because the plan does not request renewals, the phone is unknown, or the
    /// activity has another type.
    private func renewalTime(of activity: ResolvedActivity) -> Timestamp? {
        let type = activity.facts.attributesType ?? attributesType
        guard let renewBefore, activity.installation != nil, type == attributesType else { return nil }
        return Timestamp(activity.expiresAt) - renewBefore
    }

    /// Replaces an activity that ends soon with a new activity. The old activity is updated until the new one has a
    /// token.
    private func renew(
        _ old: ResolvedActivity,
        on phone: PlanFacts,
        _ lease: Lease?,
        newID: @autoclosure () -> LeaseID,
        at now: Timestamp
    ) -> PlanDecision {
        if let newer = phone.newer {
            return newer.deliverable != nil && lease?.replaces == old.activityID ? .end(old) : .update(old)
        }
        switch start(on: phone, lease, replacing: old, newID: newID(), at: now) {
        case .wait(_, let time): return .update(old, retryAt: time)
        case .start(let token, let lease, _): return .start(token, lease, replaces: old)
        default: return .update(old)
        }
    }

    private func start(
        on phone: PlanFacts,
        _ lease: Lease?,
        replacing old: ResolvedActivity? = nil,
        newID: @autoclosure () -> LeaseID,
        at now: Timestamp
    ) -> PlanDecision {
        // 2. The user dismissed it.
        if phone.wasDismissed, !restartsDismissed { return .alert(.dismissed, phone.deviceToken) }
        // 3. A lease is active. A registration frees it, and the same plan gets it again.
        let isAnswered = lease?.isAnswered(by: phone.registeredAt, newestAt: phone.newestAt) ?? false
        let open = isAnswered ? nil : lease
        let active = open.flatMap { $0.isActive(at: now) ? $0 : nil }
        if let active, !active.belongs(to: planID) { return .wait(.leased, until: active.leasedUntil) }
        // 4. The last start failed.
        if let open, active == nil {
            if open.isExhausted(at: now) { return .alert(.startFailed, phone.deviceToken) }
            if let retryAt = open.failure?.retryAt, retryAt > now { return .wait(.backOff, until: retryAt) }
        }
        // 5. The start token is usable.
        if let token = phone.startToken, let time = phone.startConfirmedAt, time > now - maxStartTokenAge {
            if var active {
                active.replaces = old?.activityID ?? active.replaces
                return .start(token, active)
            }
            let taken = Lease(
                for: self,
                on: phone.installation,
                after: lease,
                isAnswered: isAnswered,
                replacing: old?.activityID,
                id: newID(),
                at: now
            )
            return .start(token, taken)
        }
        // 6. Use the device token if one is known.
        let reason: PlanReason = phone.startToken == nil ? .noStartToken : .startUnconfirmed
        return phone.deviceToken.map { .alert(reason, $0) } ?? .none(reason)
    }
}

extension Metadata {
    /// Whether the phone of an installation can follow broadcast channels, because its client reports an `osVersion` of
    /// 18 or later.
    package var supportsChannels: Bool {
        guard case .string(let version)? = (try? JSONParser.parse(canonicalJSON))?["osVersion"] else { return false }
        return Int(version.prefix { $0 != "." }).map { $0 >= 18 } ?? false
    }
}
