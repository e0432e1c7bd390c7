extension Outbox {
    /// The next step of sending.
    package enum Step: Sendable, Equatable {
        /// Sends an entry; it is under way until it is answered.
        case send(OutboxEntry)
        /// Asks again at this time of the monotonic clock.
        case wait(until: Duration)
        /// Asks again when something happens.
        case rest
    }

    /// Hands out what to send; ask until it says something else.
    package mutating func next(at uptime: Duration) -> Step {
        let step = upcoming(at: uptime)
        if case .send(let entry) = step { underWay.insert(entry.id) }
        return step
    }

    /// The same, with nothing handed out.
    ///
    /// While nobody answers, one entry at a time tries whether somebody does: the one that was tried least, so that none stands
    /// in the way of another.
    package func upcoming(at uptime: Duration) -> Step {
        guard underWay.count < (silence == nil ? Self.mostUnderWay : 1) else { return .rest }
        let open = openEntries
        guard let soonest = open.map(\.tries.notBefore).min() else { return .rest }
        let start = max(soonest, silence?.notBefore ?? .zero)
        guard start <= uptime else { return .wait(until: start) }
        let due = open.filter { $0.tries.notBefore <= uptime }
        let entry = due.min { ($0.tries.count, $0.observedAt) < ($1.tries.count, $1.observedAt) }
        return entry.map(Step.send) ?? .rest
    }

    private var openEntries: [OutboxEntry] {
        let authorised = entries.filter { !withoutCredential.contains($0.owner) }
        let first = authorised.filter(\.mayPrecede)
        return authorised.filter { entry in
            !underWay.contains(entry.id) && !first.contains { $0.precedes(entry) }
        }
    }

    /// The app came to the foreground, or the network came back: all are tried now, but those for which the registry asked
    /// for a pause (C13).
    package mutating func comesToForeground() {
        silence?.notBefore = .zero
        withoutCredential = []
        endPauses { _ in true }
    }

    /// Lets entries go now, but those for which the registry asked for a pause (C13).
    mutating func endPauses(where isMeant: (OutboxEntry) -> Bool) {
        for index in entries.indices where !entries[index].tries.isAsked && isMeant(entries[index]) {
            entries[index].tries.notBefore = .zero
        }
    }

    /// There is no credential for an entry that was handed out: it and all others of its owner wait for one.
    package mutating func credentialIsMissing(for id: UInt64, of owner: Owner) {
        underWay.remove(id)
        withoutCredential.insert(owner)
    }

    /// There is another credential than the one that was refused. What was refused once is tried now, and only once: a program may
    /// give another wrong one each time.
    package mutating func credentialWasRenewed(for owner: Owner) {
        endPauses { $0.owner == owner && $0.tries.refusals[401] == 1 }
    }

    /// There is a new credential: all that waited for it is tried now.
    package mutating func credentialCame(for owner: Owner) {
        withoutCredential.remove(owner)
        endPauses { $0.owner == owner }
    }
}
