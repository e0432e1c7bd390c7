import RegistryCore
import RegistryStore

extension CallModel {
    typealias Holder = (kind: Call.Kind, claims: [Claim])

    /// The tokens that have the value now; a dismissed activity's counts.
    func holder(of token: Int) -> Holder? {
        guard let value = values[token] else { return nil }
        var holders: [(kind: Call.Kind, claim: Claim)] = []
        if let owner = value.owner, value.installation == nil, let activity = activities[owner.activity],
            let claim = activity.claim, claim.token == token, activity.endedAt == nil, activity.expiresAt > now
        {
            holders.append((.update, claim))
        }
        for (id, slot) in slots {
            guard let claim = slot.claim, claim.isPresent, claim.token == token else { continue }
            let isOwner = value.installation.map { $0.hash == id.installation && $0.kind == id.slot.kind }
            if isOwner ?? !id.slot.hasOneOwner { holders.append((id.slot.kind, claim)) }
        }
        return holders.map(\.kind).max().map { ($0, holders.map(\.claim)) }
    }

    mutating func feedback(_ reports: [Call]) -> Reply {
        var tripped: [Call.Kind] = []
        for (kind, count) in newQuarantines(reports) {
            let (trippedAt, isOn) = (guards[kind]?.trippedAt, isGuarded(kind))
            // No history has the 20 tokens of a kind that raise the limit.
            let isBurst = count + values.values.filter { isRecent($0.quarantine, kind) }.count > 3
            guards[kind] = (isOn ? trippedAt : isBurst ? now : nil, now)
            guard isBurst, !isOn else { continue }
            tripped.append(kind)
            for (token, value) in values where isRecent(value.quarantine, kind) { values[token]?.quarantine = nil }
        }
        let answers = reports.map { Answer.action(apply($0, isTrial: false)) }
        return Reply(answers, tripped.map(\.rawValue).sorted())
    }

    private func isGuarded(_ kind: Call.Kind) -> Bool {
        guards[kind].map { $0.trippedAt != nil && $0.reportedAt > now - 10 * Self.minute } ?? false
    }

    private func isRecent(_ quarantine: (at: Int, kind: Call.Kind)?, _ kind: Call.Kind) -> Bool {
        quarantine.map { $0.kind == kind && $0.at > now - 10 * Self.minute } ?? false
    }

    /// The values that the reports would newly withhold if no guard were on.
    private func newQuarantines(_ reports: [Call]) -> [Call.Kind: Int] {
        var (trial, new): (CallModel, Set<Int>) = (self, [])
        for report in reports {
            let token = report.token ?? 0
            let (before, claims) = (trial.values[token] ?? Value(), trial.holder(of: token)?.claims ?? [])
            _ = trial.apply(report, isTrial: true)
            let after = trial.values[token] ?? Value()
            let isNew = { self.accusation(before, $0) == nil && self.accusation(after, $0) == .quarantined }
            if claims.contains(where: isNew) { new.insert(token) }
        }
        return Dictionary(new.compactMap { trial.values[$0]?.quarantine?.kind }.map { ($0, 1) }, uniquingKeysWith: +)
    }

    private mutating func apply(_ report: Call, isTrial: Bool) -> FeedbackAction {
        let token = report.token ?? 0
        var value = values[token] ?? Value()
        let (now, time) = (now, min(time(report.ago) ?? now, now))
        if report.status == .dead {
            value.deadAt = max(value.deadAt ?? time, time)
            values[token] = value
        }
        guard let holder = holder(of: token) else { return value.isKnown ? .retired : .unknown }
        let claimedAt = holder.claims.map(\.claimedAt).max() ?? 0
        switch report.status {
        case .failed: return .kept
        case .delivered: return .delivered
        case .dead: return claimedAt <= value.deadAt ?? .min ? .dropped : .keptNewer
        case .suspect:
            if let quarantine = value.quarantine, claimedAt <= quarantine.at { return .quarantined }
            if !isTrial, isGuarded(holder.kind) { return .guarded }
            if claimedAt > time { return .keptNewer }
            values[token]?.quarantine = (now, holder.kind)
            return .quarantined
        }
    }

    mutating func release(_ id: String) -> Reply {
        guard let activity = activities[id] else { return Reply(.problem(.activityNotFound)) }
        guard let token = activity.claim?.token, let value = values[token], value.quarantine != nil else {
            return Reply(.done, 0)
        }
        guard value.owner?.activity == id else { return Reply(.done, 0) }
        values[token]?.quarantine = nil
        return Reply(.done, 1)
    }

    mutating func release(_ id: SlotID) -> Reply {
        guard let claim = slots[id]?.claim, claim.isPresent else { return Reply(.problem(.tokenNotFound)) }
        if !id.slot.hasOneOwner || values[claim.token]?.installation?.hash == id.installation {
            values[claim.token]?.quarantine = nil
        }
        return Reply(.done)
    }

    mutating func releaseAll() -> Reply {
        let quarantined = values.filter { $0.value.quarantine != nil }.keys
        for token in quarantined { values[token]?.quarantine = nil }
        return Reply(.done, quarantined.count)
    }

    mutating func endAll(under alias: Name) -> Reply {
        let running = activities.filter { $0.value.endedAt == nil && !$0.value.isExpiryRecorded && $0.value.has(alias) }
        let time = now
        for id in running.keys { activities[id]?.endedAt = time }
        return Reply(.done, running.values.filter { $0.expiresAt > now }.count)
    }

    mutating func erase(_ name: Name) {
        erasures[name] = now
        for (id, activity) in activities where activity.has(name) {
            for (token, value) in values where value.owner?.activity == id { values[token] = nil }
            identities = identities.filter { $0.value.activity != id || !activity.has(.alias($0.key.alias)) }
            activities[id] = nil
            erasures[.activity(id)] = now
        }
        let hashes = Set(installations.filter { $0.value.has(name) }.keys)
        let others = Set(slots.filter { !hashes.contains($0.key.installation) }.compactMap { $0.value.claim?.token })
        for (id, slot) in slots where hashes.contains(id.installation) {
            slots[id] = nil
            guard let token = slot.claim?.token, values[token]?.owner == nil else { continue }
            if values[token]?.installation == nil, !others.contains(token) { values[token] = nil }
        }
        for (token, value) in values {
            if let owner = value.installation, hashes.contains(owner.hash) { values[token] = nil }
        }
        for hash in hashes {
            let (known, hasActivities) = (installations[hash], activities.values.contains { $0.installation == hash })
            installations[hash] = nil
            // The times of log-outs and full states stay while they end or dismiss activities.
            if hasActivities {
                installations[hash] = Installation(fullStateAt: known?.fullStateAt, loggedOutAt: known?.loggedOutAt)
            }
            erasures[.installation(hash)] = now
        }
        identities = identities.filter { name != .alias($0.key.alias) && name != $0.key.user.map(Name.user) }
    }

    mutating func purge(_ call: Call) -> Reply {
        func isStale(_ withheld: Withheld?, _ confirmedAt: Int, _ expiresAt: Int?) -> Bool {
            guard withheld == nil || withheld == .quarantined else { return false }
            switch call.reason {
            case .quarantined: return withheld != nil
            case .expired: return expiresAt.map { $0 <= now } ?? false
            case .unconfirmed: return confirmedAt <= now - call.minutes * Self.minute
            }
        }
        var count = 0
        for (id, activity) in activities where call.kind == .update {
            guard let claim = activity.claim, claim.isPresent, activity.endedAt == nil else { continue }
            let confirmedAt = max(activity.confirmedAt, activity.startsAt ?? .min)
            guard isStale(withheld(id), confirmedAt, activity.expiresAt) else { continue }
            let time = max(values[claim.token]?.deadAt ?? .min, claim.claimedAt)
            values[claim.token]?.deadAt = time
            values[claim.token]?.purgedAt = time
            count += 1
        }
        for (id, slot) in slots where id.slot.kind == call.kind {
            guard let claim = slot.claim, claim.isPresent, isStale(withheld(id), slot.confirmedAt, nil) else {
                continue
            }
            slots[id]?.claim?.isPresent = false
            slots[id]?.deletedAt = max(slot.deletedAt ?? .min, claim.observedAt)
            count += 1
        }
        return Reply(.done, count)
    }

    mutating func sweep() {
        for (id, activity) in activities where activity.endedAt == nil && activity.expiresAt <= now {
            activities[id]?.isExpiryRecorded = true
            activities[id]?.claim?.isPresent = false
        }
    }
}
