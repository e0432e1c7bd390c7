extension Outbox {
    package struct Circumstances {
        /// The credential of the request: its owner's, or the installation's in place of a user.
        package var authority: Owner
        /// By the monotonic clock.
        package var uptime: Duration
        /// By the registry's clock.
        package var time: Timestamp
        /// Random, from 0 to 1.
        package var jitter: Double
        /// The greatest time that the registry may have accepted.
        package var floor = Timestamp.distantPast
        /// Returns whether a report is the registration of an activity that runs here or is scheduled.
        package var runs: (Report) -> Bool
    }

    package mutating func settle(_ sent: OutboxEntry, _ response: ResponseClass, _ now: Circumstances) -> [Event] {
        underWay.remove(sent.id)
        var events = note(isAnswered: response != .none && response != .notSent, now)
        // If it was replaced while it was under way, the replacement is still to be sent.
        guard let index = entries.firstIndex(where: { $0.id == sent.id }) else { return events }
        // Before the first contact a sign-in would otherwise lose its precedence over the entries that its response
        // corrects (C21).
        if response != .notSent { entries[index].tries.count += 1 }
        entries[index].tries.isAsked = false
        switch response {
        case .accepted: events += accept(index, now)
        case .refused(let status, let problem): events += refuse(index, sent, status, problem, now)
        case .retryLater(let pause): postpone(index, pause, now)
        case .none, .notSent: break
        }
        return events
    }

    /// Silence concerns the network, so its pause is separate from the entries' pauses.
    private mutating func note(isAnswered: Bool, _ now: Circumstances) -> [Event] {
        guard !isAnswered else {
            silence = nil
            return []
        }
        let begins = silence == nil
        var silence = silence ?? Silence(since: now.time)
        silence.count += 1
        silence.notBefore = now.uptime + Backoff.pause(after: silence.count, jitter: now.jitter)
        self.silence = silence
        return begins ? [.unreachable(since: silence.since.date)] : []
    }

    private mutating func accept(_ index: Int, _ now: Circumstances) -> [Event] {
        let entry = entries.remove(at: index)
        if entry.report == .logOut, entry.correction > ObservationClock.tolerance, now.floor <= entry.observedAt {
            // The clock was behind, so the registry kept newer records. None of them is of a report after the log-out.
            let time = entry.correctedTime
            entries.append(OutboxEntry(id: entry.id, report: .logOut, observedAt: time, owner: entry.owner))
            return []
        }
        // The installation is the owner's from now on, so entries that were refused as another's may be allowed.
        if case .installation = entry.report { endPauses { $0.owner == entry.owner && $0.refusedSince != nil } }
        return [.registered(entry.subject)]
    }

    private mutating func postpone(_ index: Int, _ asked: Duration?, _ now: Circumstances) {
        let pause = Backoff.pause(after: entries[index].tries.count, jitter: now.jitter)
        entries[index].tries.notBefore = now.uptime + max(pause, asked ?? .zero)
        entries[index].tries.isAsked = asked != nil
    }

    private mutating func refuse(
        _ index: Int,
        _ sent: OutboxEntry,
        _ status: Int,
        _ problem: Problem,
        _ now: Circumstances
    ) -> [Event] {
        let count = entries[index].tries.refusals[status, default: 0] + 1
        entries[index].tries.refusals[status] = count
        let entry = entries[index]
        switch (status, problem.code) {
        // The publishable key stood in for the user, who may be allowed to.
        case (401, _) where now.authority != entry.owner && !entry.report.isFinal,
            (403, _) where now.authority != entry.owner && !entry.report.isFinal:
            entries[index].tries.refusals[status] = nil
            needsUser(entry.id)
            return []
        // This release has no other key.
        case (401, _) where now.authority == .installation: return keep(index, problem, now)
        // The next request asks the source for another JWT (C13). If the user has signed out, the key reports an end.
        case (401, _),
            (403, .notYours) where entry.report.isFinal && now.authority != .installation && count == 1:
            pause(index, after: count, now)
            return count == 1 ? [.refused(entry.subject, problem, isKept: true)] : []
        case (403, _), (404, _): return keep(index, problem, now)
        // The clock was behind by more than the activity's lifetime, and is right now (C21).
        case (410, .activityExpired) where count == 1 && entry.observedAt != sent.observedAt: return []
        // The registry considers the activity expired, but it runs here: it is observed now.
        case (410, .activityExpired) where count == 1 && now.runs(entry.report):
            entries[index].observedAt = now.time
            entries[index].report.moveStart { _ in now.time }
            return []
        case (422, .clockSkew) where count <= 3:
            // The caller corrects the clock and moves the times before it asks for the next entry.
            if count > 1 { pause(index, after: count, now) }
            return []
        default: return [.refused(entries.remove(at: index).subject, problem, isKept: false)]
        }
    }

    /// Repeats a refused entry for a day, and a log-out without end: a wrong key in one release must not lose all tokens.
    private mutating func keep(_ index: Int, _ problem: Problem, _ now: Circumstances) -> [Event] {
        let since = entries[index].refusedSince ?? now.time
        guard now.time - since < Backoff.keptWhenRefused || entries[index].report == .logOut else {
            return [.refused(entries.remove(at: index).subject, problem, isKept: false)]
        }
        let isFirst = entries[index].refusedSince == nil
        entries[index].refusedSince = since
        entries[index].tries.notBefore = now.uptime + Backoff.afterRefusal
        return isFirst ? [.refused(entries[index].subject, problem, isKept: true)] : []
    }

    private mutating func pause(_ index: Int, after count: Int, _ now: Circumstances) {
        entries[index].tries.notBefore = now.uptime + Backoff.pause(after: count, jitter: now.jitter)
    }
}

extension LiveActivityRegistry.Event {
    fileprivate static func refused(_ subject: LiveActivityRegistry.Subject, _ problem: Problem, isKept: Bool) -> Self {
        .refused(subject, code: problem.code, detail: problem.detail ?? "", isKept: isKept)
    }
}

enum Backoff {
    private static let longest = Duration.seconds(300)
    /// After a refusal that only a change of settings or of the program resolves.
    static let afterRefusal = Duration.seconds(3600)
    static let keptWhenRefused = Duration.seconds(24 * 3600)

    /// One second, doubled with every try up to five minutes. Half of it is random, so that phones do not return all at once.
    static func pause(after count: Int, jitter: Double) -> Duration {
        let whole = min(Duration.seconds(1 << min(max(count - 1, 0), 20)), longest)
        return whole / 2 + whole / 2 * min(max(jitter, 0), 1)
    }
}
