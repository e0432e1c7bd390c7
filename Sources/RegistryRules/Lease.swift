import RegistryCore

/// The right to start an activity with an alias on an installation, as stored in its locked row.
package struct Lease: Sendable, Hashable {
    package let installation: InstallationHash
    package let alias: Alias
    package let id: LeaseID
    /// The caller's name of the plan. Repeating it returns the same lease.
    package let planID: UTF8Text?
    package let attributesType: AttributesType
    /// The running activity that the new one replaces; nil if none ran.
    package var replaces: ActivityID?
    package let leasedAt: Timestamp
    package var leasedUntil: Timestamp
    /// The last starts, at most ``mostAttempts``, including this one. A released lease does not count as an attempt.
    package var attempts: [Timestamp]
    package var failure: Failure?
    package var releasedAt: Timestamp?
    package var position: RowPosition?

    package enum State: String, Sendable, Hashable, CaseIterable {
        case live
        case registered
        case failed
        case released
        /// The lease ended without a report.
        case expired
    }

    package struct Failure: Sendable, Hashable {
        package let at: Timestamp
        package let reason: UTF8Text
        /// When the next start is allowed.
        package let retryAt: Timestamp

        package init(at: Timestamp, reason: UTF8Text, retryAt: Timestamp) {
            (self.at, self.reason, self.retryAt) = (at, reason, retryAt)
        }
    }

    /// Starts per day without a resulting activity before the registry gives up.
    package static let mostAttempts = 3
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

    /// Takes the lease for a plan. Attempts continue to count until a registration follows. The lease of a renewal is
    /// short enough for three attempts before the end of the replaced activity.
    init(
        for plan: PlanRequest,
        on installation: InstallationHash,
        after former: Lease?,
        isAnswered: Bool,
        replacing replaced: ActivityID?,
        id: LeaseID,
        at now: Timestamp
    ) {
        let third = max(PlanRequest.shortestLease, (plan.renewBefore ?? .zero) / 3)
        let earlier = isAnswered ? [] : former?.attempts ?? []
        self.init(
            installation: installation,
            alias: plan.alias,
            id: id,
            planID: plan.planID,
            attributesType: plan.attributesType,
            leasedAt: now,
            leasedUntil: now + (replaced == nil ? plan.lease : min(plan.lease, third)),
            attempts: (earlier + [now]).suffix(Self.mostAttempts)
        )
        replaces = replaced
        position = former?.position
    }

    /// Whether an activity was registered after the lease was taken. The start worked, so earlier attempts no longer count.
    ///
    /// - Parameter newestAt: when the newest activity became known. A renewal needs a new activity, because the
    ///   replaced activity registers tokens until its end.
    func isAnswered(by registeredAt: Timestamp?, newestAt: Timestamp?) -> Bool {
        (replaces == nil ? registeredAt : newestAt).map { $0 > leasedAt } ?? false
    }

    func isActive(at now: Timestamp) -> Bool { leasedUntil > now && failure == nil && releasedAt == nil }
    func belongs(to planID: UTF8Text?) -> Bool { planID != nil && self.planID == planID }
    func isExhausted(at now: Timestamp) -> Bool { attempts.count >= Self.mostAttempts && attempts[0] + Self.day > now }

    /// Starts within the day before the lease was taken, including this one.
    package var attempt: Int { attempts(since: leasedAt - Self.day) }
    private func attempts(since time: Timestamp) -> Int { attempts.filter { $0 > time }.count }

    /// Returns false and changes nothing if the lease already failed or was released.
    package mutating func fail(_ reason: UTF8Text, at now: Timestamp) -> Bool {
        guard failure == nil, releasedAt == nil else { return false }
        let pause = Self.backOffs[max(1, attempts(since: now - Self.day)) - 1]
        failure = Failure(at: now, reason: reason, retryAt: now + pause)
        leasedUntil = min(leasedUntil, now)
        return true
    }

    /// Nothing was sent, so this removes the attempt. Returns false and changes nothing if the lease is inactive.
    package mutating func release(at now: Timestamp) -> Bool {
        guard isActive(at: now) else { return false }
        releasedAt = now
        leasedUntil = now
        _ = attempts.popLast()
        return true
    }

    package func state(registeredAt: Timestamp?, newestAt: Timestamp?, at now: Timestamp) -> State {
        if isAnswered(by: registeredAt, newestAt: newestAt) { return .registered }
        if releasedAt != nil { return .released }
        if failure != nil { return .failed }
        return leasedUntil > now ? .live : .expired
    }
}
