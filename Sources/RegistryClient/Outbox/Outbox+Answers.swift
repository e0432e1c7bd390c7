extension Outbox {
    /// A consequence of an answer, for the caller to carry out.
    package enum Effect: Sendable, Equatable {
        case tell(RegistryEvent)
        /// The credential was refused: get a new one (C13).
        case renewCredential(Owner)
        /// The activity runs here, whatever the registry thinks: report it as observed now.
        case observeAnew(ActivityRegistration, Owner)
    }

    /// The circumstances of an answer.
    package struct Circumstances {
        /// The credential that the entry was sent by: its owner's, or the installation's in the place of one who signed out.
        package var authority: Owner
        /// By the monotonic clock.
        package var uptime: Duration
        /// By the registry's clock.
        package var time: Timestamp
        /// The entry was given another time since it was sent: the refused one was by a wrong clock (C21).
        package var isCorrected = false
        /// The request may have left the phone.
        package var isSent = true
        /// Random, from 0 to 1.
        package var jitter: Double
        /// Tells whether an activity runs here, or is scheduled.
        package var runs: (UTF8Text) -> Bool
    }

    /// An entry was answered, or nobody answered.
    package mutating func settle(_ id: UInt64, _ verdict: Verdict, _ now: Circumstances) -> [Effect] {
        underWay.remove(id)
        var effects = note(isAnswered: verdict != .unanswered, now)
        // It may have been replaced while it was under way; then the later one is still to be sent.
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return effects }
        // Before the first contact a sign-in would otherwise stop to precede the rest, whose times its answer corrects (C21).
        if now.isSent { entries[index].tries.count += 1 }
        entries[index].tries.isAsked = false
        entries[index].tries.isUnanswered = verdict == .unanswered
        switch verdict {
        case .accepted(let items): effects += accept(index, items, now)
        case .refused(let status, let problem): effects += refuse(index, status, problem, now)
        case .repeatLater(let pause): postpone(index, pause, now)
        case .unanswered: postpone(index, nil, now)
        }
        return effects
    }

    /// Silence is the network's, and each entry is tried on its own account as well.
    private mutating func note(isAnswered: Bool, _ now: Circumstances) -> [Effect] {
        guard !isAnswered else {
            guard silence != nil else { return [] }
            silence = nil
            for index in entries.indices where entries[index].tries.isUnanswered {
                entries[index].tries.notBefore = .zero
            }
            return []
        }
        let begins = silence == nil
        var silence = silence ?? Silence(since: now.time)
        silence.count += 1
        silence.notBefore = now.uptime + Backoff.pause(after: silence.count, jitter: now.jitter)
        self.silence = silence
        return begins ? [.tell(.unreachable(since: silence.since.date))] : []
    }

    private mutating func accept(_ index: Int, _ items: [Verdict.RefusedItem], _ now: Circumstances) -> [Effect] {
        let entry = entries.remove(at: index)
        if case .installation = entry.report { retryRefused(of: entry.owner) }
        return [.tell(.registered(entry.name))]
            + items.compactMap { item in
                if let effect = anew(entry, item, now) { return effect }
                // The list was by a wrong clock, which says nothing of the activity.
                if item.problem.code == "activity-expired", entry.correction != .zero { return nil }
                return .tell(.refused(.activity(item.activityID), item.problem, isKept: false))
            }
    }

    /// The installation is the owner's from now on, so what was refused as another's may be allowed.
    private mutating func retryRefused(of owner: Owner) {
        endPauses { $0.owner == owner && $0.refusedSince != nil }
    }

    private func anew(_ entry: OutboxEntry, _ item: Verdict.RefusedItem, _ now: Circumstances) -> Effect? {
        guard case .fullState(let activities) = entry.report, item.problem.code == "activity-expired",
            let activity = activities.first(where: { $0.activityID == item.activityID }), activity.token != nil,
            !entries.contains(where: { $0.name == .activity(activity.activityID) }), now.runs(activity.activityID)
        else { return nil }
        return .observeAnew(activity.movingStart(by: entry.correction), entry.owner)
    }

    private mutating func postpone(_ index: Int, _ asked: Duration?, _ now: Circumstances) {
        let pause = Backoff.pause(after: entries[index].tries.count, jitter: now.jitter)
        entries[index].tries.notBefore = now.uptime + max(pause, asked ?? .zero)
        entries[index].tries.isAsked = asked != nil
    }
}
