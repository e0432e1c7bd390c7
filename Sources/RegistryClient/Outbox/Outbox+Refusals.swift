extension Outbox {
    /// The registry refused an entry, with a reason (C13).
    mutating func refuse(_ index: Int, _ status: Int, _ problem: Problem, _ now: Circumstances) -> [Effect] {
        switch (status, problem.code) {
        case (401, _):
            postpone(index, now)
            return [.renewCredential(entries[index].owner)] + tellFirst(index, problem)
        case (403, _), (404, _): return keep(index, problem, now)
        case (422, "clock-skew") where entries[index].tries.count <= 3:
            // The caller corrects the clock, and moves the times, before it asks for the next entry.
            if entries[index].tries.count > 1 { postpone(index, now) }
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

    private func tellFirst(_ index: Int, _ problem: Problem) -> [Effect] {
        entries[index].tries.count > 1 ? [] : [.tell(.refused(entries[index].name, problem, isKept: true))]
    }

    private mutating func postpone(_ index: Int, _ now: Circumstances) {
        let pause = Backoff.pause(after: entries[index].tries.count, jitter: now.jitter)
        entries[index].tries.notBefore = now.uptime + pause
    }
}
