import RegistryCore

extension CallModel {
    /// A profile or full state: a user takes the installation over. The greatest (time, user) owns it; a late one still
    /// removes older aliases of another user.
    mutating func enterAsOwner(_ call: Call, at time: Int) -> Problem.Code? {
        if isSkewed(time) { return .clockSkew }
        let hash = call.installation ?? 0
        let names = [.installation(hash)] + [call.user.map(Name.user)].compactMap(\.self)
        if isErased(names + (call.aliases ?? []).map(Name.alias), time) { return .activityEnded }
        var installation = installations[hash] ?? Installation()
        defer { installations[hash] = installation }
        guard let user = call.user, time > installation.loggedOutAt ?? .min else { return nil }
        let (former, formerAt) = (installation.user, installation.userAt ?? .min)
        if former.map({ (formerAt, $0) < (time, user) }) ?? true { installation.user = user }
        installation.userAt = max(formerAt, time)
        guard let former, former != user else { return nil }
        installation.otherUserAt = max(installation.otherUserAt ?? .min, min(formerAt, time))
        installation.takenOverAt = max(installation.takenOverAt ?? time, time)
        if let aliases = installation.aliases, aliases.at <= time { installation.aliases = nil }
        return nil
    }

    mutating func profile(_ call: Call) -> Answer {
        let (hash, time) = (call.installation ?? 0, time(call.ago) ?? now)
        if let code = enterAsOwner(call, at: time) { return .problem(code) }
        guard let known = installations[hash], time > known.loggedOutAt ?? .min, !isOfAnother(call) else {
            return .problem(.superseded)
        }
        if time > known.otherUserAt ?? .min, call.user != nil || time >= known.takenOverAt ?? .min {
            installations[hash]?.aliases.replace(call.aliases, at: time)
        }
        return .done
    }

    /// A call that registers no user gives a user to an installation without one.
    ///
    /// - Returns: nil if the call may go on.
    private mutating func enter(_ call: Call) -> Problem.Code? {
        let (hash, observed) = (call.installation ?? 0, time(call.ago))
        if isSkewed(observed) { return .clockSkew }
        if isOfAnother(call) { return .notYours }
        let names = [.installation(hash)] + [call.user.map(Name.user)].compactMap(\.self)
        if isErased(names, observed ?? now) { return .activityEnded }
        var installation = installations[hash] ?? Installation()
        let isLoggedOut = observed.map { $0 <= installation.loggedOutAt ?? .min } ?? false
        if !isLoggedOut { installation.user = installation.user ?? call.user }
        installations[hash] = installation
        return nil
    }

    mutating func put(_ call: Call) -> Answer {
        if let code = enter(call) { return .problem(code) }
        let (id, token, observed) = (SlotID(call), call.token ?? 0, time(call.ago))
        let wasWithheld = withheld(id) != nil
        let outcome = merge(claim(token, in: id, at: observed), in: id)
        if let time = observed ?? slots[id]?.claim.flatMap({ $0.token == token ? $0.observedAt : nil }) {
            var value = values[token] ?? Value()
            let owner = (at: time, hash: id.installation, kind: id.slot.kind)
            if !id.slot.hasOneOwner {
                value.startAt = max(value.startAt ?? time, time)
            } else if value.installation.map({ $0 < owner }) ?? true {
                value.installation = owner
            }
            values[token] = value
        }
        guard let outcome else { return .problem(.superseded) }
        if let code = withheld(id)?.code { return .problem(code) }
        return .outcome(outcome == .refreshed && wasWithheld && withheld(id) == nil ? .reactivated : outcome)
    }

    private func claim(_ token: Int, in id: SlotID, at observed: Int?) -> Claim {
        if let observed { return Claim(token: token, observedAt: observed, claimedAt: min(observed, now)) }
        guard let current = slots[id]?.claim, current.isPresent, current.token == token else {
            return Claim(token: token, observedAt: now, claimedAt: now)
        }
        let claimedAt = withheld(id) == .quarantined ? now : current.claimedAt
        return Claim(token: token, observedAt: current.observedAt, claimedAt: claimedAt)
    }

    /// - Returns: nil if a later claim, deletion or log-out counts.
    private mutating func merge(_ given: Claim, in id: SlotID) -> RegistrationOutcome? {
        var (slot, new) = (slots[id] ?? Slot(), given)
        defer { slots[id] = slot }
        let removedAt = max(slot.deletedAt ?? .min, installations[id.installation]?.loggedOutAt ?? .min)
        new.isPresent = new.observedAt > removedAt
        guard let current = slot.claim else {
            (slot.claim, slot.confirmedAt) = (new, now)
            return new.isPresent ? .registered : nil
        }
        let (isSame, isLater) = (current.token == new.token, precedes(current, new))
        if isSame { new.claimedAt = max(current.claimedAt, new.claimedAt) }
        if isSame || isLater { slot.confirmedAt = now }
        if isLater { slot.claim = new } else if isSame { slot.claim?.claimedAt = new.claimedAt }
        if current.observedAt <= removedAt { return new.isPresent ? .reactivated : nil }
        return isSame ? .refreshed : isLater ? .rotated : nil
    }

    mutating func delete(_ call: Call) -> Answer {
        if let code = enter(call) { return code == .activityEnded ? .done : .problem(code) }
        let id = SlotID(call)
        let time = time(call.ago) ?? max(now, slots[id]?.claim?.observedAt ?? now)
        slots[id, default: Slot()].deletedAt = max(slots[id]?.deletedAt ?? time, time)
        slots[id]?.remove(by: time)
        return .done
    }

    /// Without a time, it is later than everything known, even that of a fast clock.
    mutating func logOut(_ call: Call) -> Answer {
        if let code = enter(call) { return code == .activityEnded ? .done : .problem(code) }
        let (hash, observed) = (call.installation ?? 0, time(call.ago))
        var known = installations[hash] ?? Installation()
        let ids = slots.keys.filter { $0.installation == hash }
        let times = ids.map { slots[$0]?.claim?.observedAt } + [known.userAt, known.aliases?.at]
        let time = observed ?? times.compactMap(\.self).reduce(now, max)
        for id in ids { slots[id]?.remove(by: time) }
        known.loggedOutAt = max(known.loggedOutAt ?? time, time)
        known.fullStateAt = max(known.fullStateAt ?? time, time)
        if known.userAt ?? .min <= time { (known.user, known.userAt) = (nil, nil) }
        if let aliases = known.aliases, aliases.at <= time { known.aliases = nil }
        let end = min(time, now)
        for (id, activity) in activities where activity.installation == hash && activity.endedAt == nil {
            if activity.expiresAt > now, activity.startedAt <= observed ?? .max { activities[id]?.endedAt = end }
        }
        installations[hash] = known
        return .done
    }
}

extension CallModel.Slot {
    mutating func remove(by time: Int) { if let claim, claim.observedAt <= time { self.claim?.isPresent = false } }
}
