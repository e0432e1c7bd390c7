extension Outbox {
    /// The registry refused an entry, with a reason (C13).
    mutating func refuse(_ index: Int, _ status: Int, _ problem: Problem, _ now: Circumstances) -> [Effect] {
        let count = entries[index].tries.refusals[status, default: 0] + 1
        entries[index].tries.refusals[status] = count
        switch (status, problem.code) {
        // There is no other key in this release.
        case (401, _) where now.authority == .installation: return keep(index, problem, now)
        case (401, _):
            pause(index, after: count, now)
            let isFirst = count == 1
            return [.renewCredential(entries[index].owner)]
                + (isFirst ? [.tell(.refused(entries[index].name, problem, isKept: true))] : [])
        case (403, "not-yours") where entries[index].report.isFinal && entries[index].refusedSince == nil:
            // The next user took the installation over meanwhile. The installation itself may still say it.
            let owner = entries[index].owner
            return keep(index, problem, now) + [.renewCredential(owner)]
        case (403, _), (404, _): return keep(index, problem, now)
        // The clock was over the activity's lifetime behind, and is right now (C21).
        case (410, "activity-expired") where count == 1 && now.isCorrected: return []
        case (422, "clock-skew") where count <= 3:
            // The caller corrects the clock, and moves the times, before it asks for the next entry.
            if count > 1 { pause(index, after: count, now) }
            return []
        default: return give(up: index, problem, now)
        }
    }

    /// A wrong key in one release must not throw all tokens away: it may be mended within a day.
    private mutating func keep(_ index: Int, _ problem: Problem, _ now: Circumstances) -> [Effect] {
        let since = entries[index].refusedSince ?? now.time
        guard now.time - since < Backoff.keptWhenRefused else { return give(up: index, problem, now) }
        let isFirst = entries[index].refusedSince == nil
        entries[index].refusedSince = since
        entries[index].tries.notBefore = now.uptime + Backoff.afterRefusal
        return isFirst ? [.tell(.refused(entries[index].name, problem, isKept: true))] : []
    }

    private mutating func give(up index: Int, _ problem: Problem, _ now: Circumstances) -> [Effect] {
        let entry = entries.remove(at: index)
        if problem.code == "activity-expired", case .registration(let registration) = entry.report,
            !entry.isObservedAnew, now.runs(registration.activityID)
        {
            return [.observeAnew(registration, entry.owner)]
        }
        return [.tell(.refused(entry.name, problem, isKept: false))]
    }

    private mutating func pause(_ index: Int, after count: Int, _ now: Circumstances) {
        entries[index].tries.notBefore = now.uptime + Backoff.pause(after: count, jitter: now.jitter)
    }
}
