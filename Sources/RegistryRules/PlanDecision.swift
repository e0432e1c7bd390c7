import RegistryCore

/// The facts about an installation that decide a sender's plan, apart from the lease.
package struct PlanFacts: Sendable, Hashable {
    package let installation: InstallationHash
    package var running: RunningActivity?
    /// The last registration of an activity with the alias.
    package var registeredAt: Timestamp?
    package var wasDismissed = false
    package var startToken: StartToken?
    package var deviceToken: PushToken?

    package struct StartToken: Sendable, Hashable {
        package let token: PushToken
        package let confirmedAt: Timestamp?

        package init(token: PushToken, confirmedAt: Timestamp?) {
            self.token = token
            self.confirmedAt = confirmedAt
        }
    }

    package struct RunningActivity: Sendable, Hashable {
        package let deliverable: ResolvedActivity?
        package let hasToken: Bool
        package let createdAt: Timestamp

        package init(deliverable: ResolvedActivity?, hasToken: Bool, createdAt: Timestamp) {
            self.deliverable = deliverable
            self.hasToken = hasToken
            self.createdAt = createdAt
        }
    }

    package init(installation: InstallationHash) { self.installation = installation }
}

package enum PlanDecision: Sendable, Hashable {
    case update(ResolvedActivity)
    case wait(PlanReason, until: Timestamp)
    /// The lease is to be written as given.
    case start(PushToken, Lease)
    case alert(PlanReason, PushToken?)
    case none(PlanReason)
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
            return activity.decide(deviceToken: phone.deviceToken, hasChannel: hasChannel, at: now)
        }
        // 2. The user dismissed it.
        if phone.wasDismissed, !restartsDismissed { return .alert(.dismissed, phone.deviceToken) }
        // 3. A lease is active. A registration frees it, and the same plan gets it again.
        let isAnswered = lease?.isAnswered(by: phone.registeredAt) ?? false
        let open = isAnswered ? nil : lease
        let active = open.flatMap { $0.isActive(at: now) ? $0 : nil }
        if let active, !active.belongs(to: planID) { return .wait(.leased, until: active.leasedUntil) }
        // 4. The last start failed.
        if let open, active == nil {
            if open.isExhausted(at: now) { return .alert(.startFailed, phone.deviceToken) }
            if let retryAt = open.failure?.retryAt, retryAt > now { return .wait(.backOff, until: retryAt) }
        }
        // 5. The start token is usable.
        if let token = phone.startToken, let confirmedAt = token.confirmedAt, confirmedAt > now - maxStartTokenAge {
            if let active { return .start(token.token, active) }
            let taken = Lease(
                for: self,
                on: phone.installation,
                after: lease,
                isAnswered: isAnswered,
                id: newID(),
                at: now
            )
            return .start(token.token, taken)
        }
        // 6. Use the device token if one is known.
        let reason: PlanReason = phone.startToken == nil ? .noStartToken : .startUnconfirmed
        return phone.deviceToken.map { .alert(reason, $0) } ?? .none(reason)
    }
}

extension PlanFacts.RunningActivity {
    private static let patience = Duration.seconds(60)

    package func decide(deviceToken: PushToken?, hasChannel: Bool, at now: Timestamp) -> PlanDecision {
        if let deliverable { return .update(deliverable) }
        if !hasToken, hasChannel { return .none(.channel) }
        let end = createdAt + Self.patience
        return end > now ? .wait(.tokenPending, until: end) : .alert(.noUpdateToken, deviceToken)
    }
}
