import RegistryCore

/// The right to start an activity with an alias on an installation, as its locked row holds it.
package struct Lease: Sendable, Hashable {
    package let installation: InstallationHash
    package let alias: Alias
    package let id: LeaseID
    /// The caller's name of the plan: the same plan again gets the same lease.
    package let planID: UTF8Text?
    /// The type of the start token that the plan returned.
    package let attributesType: AttributesType
    package let leasedAt: Timestamp
    package var leasedUntil: Timestamp
    /// The last starts, at most ``mostAttempts``, this one included. A lease that is given back is no attempt.
    package var attempts: [Timestamp]
    package var failure: Failure?
    package var releasedAt: Timestamp?
    /// Nil for a new row.
    package var handle: RowHandle?

    /// The start push failed.
    package struct Failure: Sendable, Hashable {
        package let at: Timestamp
        /// APNs's status and reason.
        package let reason: UTF8Text
        /// The earliest time of another start.
        package let retryAt: Timestamp

        package init(at: Timestamp, reason: UTF8Text, retryAt: Timestamp) {
            self.at = at
            self.reason = reason
            self.retryAt = retryAt
        }
    }

    /// The starts within a day that bring no activity, before the registry gives up.
    package static let mostAttempts = 3
    /// The pauses after the first, second and third failure of a day.
    private static let backOffs: [Duration] = [.seconds(60), .seconds(300), .seconds(900)]
    private static let day = Duration.seconds(86_400)

    package init(
        installation: InstallationHash,
        alias: Alias,
        id: LeaseID,
        planID: UTF8Text?,
        attributesType: AttributesType,
        leasedAt: Timestamp,
        leasedUntil: Timestamp,
        attempts: [Timestamp]
    ) {
        self.installation = installation
        self.alias = alias
        self.id = id
        self.planID = planID
        self.attributesType = attributesType
        self.leasedAt = leasedAt
        self.leasedUntil = leasedUntil
        self.attempts = attempts
    }

    /// Takes the lease for a plan. The attempts of a lease that no registration has answered count on.
    init(
        for plan: PlanRequest,
        on installation: InstallationHash,
        after former: Lease?,
        isAnswered: Bool,
        id: LeaseID,
        at now: Timestamp
    ) {
        let earlier = isAnswered ? [] : former?.attempts ?? []
        self.init(
            installation: installation,
            alias: plan.alias,
            id: id,
            planID: plan.planID,
            attributesType: plan.attributesType,
            leasedAt: now,
            leasedUntil: now + plan.lease,
            attempts: (earlier + [now]).suffix(Self.mostAttempts)
        )
        handle = former?.handle
    }

    /// Whether an activity was registered after the lease was taken. The start worked, so earlier attempts no longer count.
    func isAnswered(by registeredAt: Timestamp?) -> Bool { registeredAt.map { $0 > leasedAt } ?? false }

    func isActive(at now: Timestamp) -> Bool { leasedUntil > now && failure == nil && releasedAt == nil }

    func belongs(to planID: UTF8Text?) -> Bool { planID != nil && self.planID == planID }

    /// Whether the attempts of a day are used up.
    func isExhausted(at now: Timestamp) -> Bool {
        attempts.count >= Self.mostAttempts && attempts[0] + Self.day > now
    }

    /// The number of starts within the day before the lease was taken, this one included.
    package var attempt: Int { attempts(since: leasedAt - Self.day) }

    private func attempts(since time: Timestamp) -> Int { attempts.filter { $0 > time }.count }

    /// Frees the lease because the start push failed. A lease that failed before or was given back stays as it is.
    ///
    /// - Returns: whether it changed.
    package mutating func fail(_ reason: UTF8Text, at now: Timestamp) -> Bool {
        guard failure == nil, releasedAt == nil else { return false }
        let pause = Self.backOffs[max(1, attempts(since: now - Self.day)) - 1]
        failure = Failure(at: now, reason: reason, retryAt: now + pause)
        leasedUntil = min(leasedUntil, now)
        return true
    }

    /// Gives the lease back because nothing was sent: it was no attempt. A lease that is over stays as it is.
    ///
    /// - Returns: whether it changed.
    package mutating func release(at now: Timestamp) -> Bool {
        guard isActive(at: now) else { return false }
        releasedAt = now
        leasedUntil = now
        _ = attempts.popLast()
        return true
    }

    /// The present state of the lease, for the audit.
    ///
    /// - Parameter registeredAt: the last registration of an activity with the alias on the installation.
    package func state(registeredAt: Timestamp?, at now: Timestamp) -> ExplainedLease.State {
        if isAnswered(by: registeredAt) { return .registered }
        if releasedAt != nil { return .released }
        if failure != nil { return .failed }
        return leasedUntil > now ? .live : .expired
    }
}
