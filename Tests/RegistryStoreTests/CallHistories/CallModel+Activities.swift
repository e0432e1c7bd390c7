import RegistryCore

extension CallModel {
    /// A new token without a time counts as observed at receipt, the current one claims nothing new, and a former one keeps its time.
    private func times(_ call: Call, _ id: String) -> (observed: Int, claimed: Int, stated: Int) {
        if let time = time(call.ago) { return (time, min(time, now), time) }
        guard let token = call.token, let current = activities[id]?.claim else { return (now, now, now) }
        if token == current.token {
            return (current.observedAt, withheld(id) == .quarantined ? now : current.claimedAt, now)
        }
        let former = values[token]?.owner.flatMap { $0.activity == id ? $0.at : nil } ?? now
        return (former, min(former, now), former)
    }

    /// A start is no later than its receipt, unless the phone's clock is ahead and its log-out is not before the receipt.
    private func starts(_ call: Call, _ id: String) -> (at: Int, scheduled: Int?) {
        let seen = time(call.ago) ?? now
        let scheduled = time(call.startsIn.map(-)).flatMap { $0 > seen ? $0 : nil }
        let start = min(time(call.startedAgo) ?? seen, seen)
        let logOut = (activities[id]?.installation ?? call.installation).flatMap { installations[$0]?.loggedOutAt }
        return (logOut.map { now <= $0 && $0 < start } ?? false ? start : min(start, now), scheduled)
    }

    /// Why a registration changes nothing.
    private func refusal(_ call: Call, _ id: String) -> Problem.Code? {
        let (observed, start) = (time(call.ago), starts(call, id))
        if isSkewed(observed) || isSkewed(time(call.startedAgo)) { return .clockSkew }
        let known = activities[id]
        let isLate = observed.map { $0 + Self.retention <= now } ?? false
        if let known, !mayChange(known, call) { return .notYours }
        let begin = max(start.at, start.scheduled ?? start.at)
        if isLate || begin + Self.lifetime <= now { return known?.endedAt == nil ? .activityExpired : .activityEnded }
        var names = [call.installation.map(Name.installation), call.user.map(Name.user)].compactMap(\.self)
        names += (call.givenAliases ?? [call.name].compactMap(\.self)).map(Name.alias)
        let isErased = erasures[.activity(id)] != nil || isErased(names, times(call, id).stated)
        return isErased ? .activityEnded : nil
    }

    private mutating func merge(_ call: Call, _ id: String) -> Answer {
        let (times, start) = (times(call, id), starts(call, id))
        let (known, reason) = (activities[id], withheld(id))
        var activity = known ?? Activity(startedAt: start.at)
        let fullStateAt = activity.installation.flatMap { installations[$0]?.fullStateAt } ?? .min
        let seen = activity.observedAt ?? .min
        let wasExpired = known != nil && activity.expiresAt <= now
        activity.startedAt = min(activity.startedAt, start.at)
        activity.startsAt = activity.startsAt ?? start.scheduled
        activity.observedAt = max(seen, times.observed)
        activity.installation = activity.installation ?? call.installation
        activity.user = activity.user ?? call.user
        activity.type = activity.type ?? call.type
        if let name = call.name { activity.aliases = activity.aliases ?? Stamped(aliases: [name], at: .min) }
        activity.aliases.replace(call.givenAliases, at: times.stated)
        if activity.expiresAt > now { activity.isExpiryRecorded = false }
        let isBack = wasExpired || fullStateAt > seen && fullStateAt <= max(seen, times.observed)
        var outcome: RegistrationOutcome? = known == nil ? .registered : .refreshed
        if let token = call.token {
            let claim = Claim(token: token, observedAt: times.observed, claimedAt: times.claimed)
            outcome = activity.merge(claim, at: now, precedes)
            if known == nil { outcome = .registered }
        }
        if activity.isExpiryRecorded { activity.claim?.isPresent = false }
        activities[id] = activity
        if let token = call.token, call.ago != nil || activity.claim?.token == token {
            let owner = values[token]?.owner
            if owner.map({ ($0.at, $0.activity) < (times.observed, id) }) ?? true {
                values[token, default: Value()].owner = (id, times.observed)
            }
        }
        if state(activity) == .ended { return .problem(.activityEnded) }
        if activity.expiresAt <= now { return .problem(.activityExpired) }
        guard let outcome else { return .problem(.superseded) }
        if call.token != nil, let reason = withheld(id), let code = reason.code { return .problem(code) }
        let isReactivated = known != nil && outcome == .refreshed && (isBack || reason != nil && withheld(id) == nil)
        return .outcome(isReactivated ? .reactivated : outcome)
    }

    mutating func register(_ call: Call, _ id: String) -> Answer {
        refusal(call, id).map(Answer.problem) ?? merge(call, id)
    }

    mutating func registerName(_ call: Call) -> Answer {
        if isSkewed(time(call.ago)) { return .problem(.clockSkew) }
        let key = Identity(call)
        let identity = identities[key]
        let known = identity?.activity.flatMap { id in activities[id].map { (id: id, activity: $0) } }
        let ended = Answer.problem(known.map { mayChange($0.activity, call) } ?? true ? .activityEnded : .notYours)
        let seen = time(call.ago) ?? now
        var lastEnd = identity?.endedAt
        if let activity = known?.activity, state(activity) == .ended {
            let end = activity.endedAt ?? activity.installation.flatMap { installations[$0]?.loggedOutAt }
            lastEnd = [lastEnd, end, activity.observedAt].compactMap(\.self).max()
        }
        if let lastEnd, seen <= lastEnd { return ended }
        var id = known?.id
        if let activity = known?.activity {
            let isRepeated = call.ago == nil && call.token == activity.claim?.token
            switch state(activity) {
            case .active, .dismissed: break
            case .ended:
                if isRepeated { return ended }
                id = nil
            case .expired: if !isRepeated, seen >= activity.expiresAt { id = nil }
            }
        }
        let chosen = id ?? newID()
        if let code = refusal(call, chosen) { return .problem(code) }
        identities[key] = (chosen, identity?.endedAt)
        return merge(call, chosen)
    }

    /// Lower than the ids that clients give, like the service's.
    private mutating func newID() -> String {
        named += 1
        return "0\(1000 + named)"
    }

    mutating func end(_ id: String, _ call: Call) -> Answer {
        let time = time(call.ago)
        if erasures[.activity(id)] != nil { return .done }
        if isSkewed(time) { return .problem(.clockSkew) }
        if let known = activities[id], !mayChange(known, call) { return .problem(.notYours) }
        var activity = activities[id] ?? Activity(startedAt: now)
        activity.endedAt = min(activity.endedAt ?? .max, time ?? now)
        if call.isClient {
            activity.installation = activity.installation ?? call.installation
            activity.user = activity.user ?? call.user
        }
        activities[id] = activity
        return .done
    }

    mutating func endName(_ call: Call) -> Answer {
        let (key, observed) = (Identity(call), time(call.ago))
        if isSkewed(observed) { return .problem(.clockSkew) }
        let identity = identities[key]
        let known = identity?.activity.flatMap { activities[$0] }
        let time = observed ?? max(now, known?.observedAt ?? now)
        // The end belongs to an earlier activity if the current one was observed later.
        let isEarlier = known?.observedAt.map { $0 > time } ?? false
        if let known, !isEarlier, !mayChange(known, call) { return .problem(.notYours) }
        let id = known.flatMap { _ in identity?.activity } ?? newID()
        identities[key] = (id, max(identity?.endedAt ?? time, time))
        return isEarlier ? .done : end(id, call)
    }

    mutating func fullState(_ call: Call) -> Reply {
        let (installation, time) = (call.installation ?? 0, time(call.ago) ?? now)
        if let code = enterAsOwner(call, at: time) { return Reply(.problem(code)) }
        let previous = installations[installation]?.fullStateAt
        let before = activities.filter { state($0.value) == .active }
        var (seen, tokens, present): (Set<Int>, Set<Int>, Set<String>) = ([], [], [])
        var answers = [Answer.done]
        for part in call.parts {
            let id = "a\(part.activity)"
            guard seen.insert(part.activity).inserted else {
                answers.append(.problem(.invalidRequest))
                continue
            }
            let isRepeated = part.token.map { !tokens.insert($0).inserted } ?? false
            var item = part
            (item.ago, item.isClient) = (call.ago, call.isClient)
            (item.installation, item.user) = (installation, call.user)
            if isRepeated { item.token = nil }
            let answer = register(item, id)
            if answer != .problem(.notYours) { present.insert(id) }
            answers.append(isRepeated ? .problem(.invalidRequest) : answer)
        }
        installations[installation]?.fullStateAt = max(previous ?? time, time)
        let dismissed = before.filter { $0.value.installation == installation && !present.contains($0.key) }
            .keys.filter { activities[$0].map(state) == .dismissed }
        return Reply(answers, dismissed.sorted().filter { $0.hasPrefix("a") })
    }
}

extension CallModel.Activity {
    /// - Returns: nil if a later claim is current.
    fileprivate mutating func merge(
        _ new: CallModel.Claim,
        at now: Int,
        _ precedes: (CallModel.Claim, CallModel.Claim) -> Bool
    ) -> RegistrationOutcome? {
        let isSame = claim?.token == new.token
        let isLater = claim.map { precedes($0, new) } ?? true
        if endedAt == nil, isSame || isLater { confirmedAt = now }
        guard let current = claim else {
            claim = new
            return .registered
        }
        if isSame {
            let times = (max(current.observedAt, new.observedAt), max(current.claimedAt, new.claimedAt))
            claim = CallModel.Claim(token: new.token, observedAt: times.0, claimedAt: times.1)
            return .refreshed
        }
        if isLater { claim = new }
        return isLater ? .rotated : nil
    }
}

extension CallModel.Withheld {
    /// A client need not act on a quarantine.
    var code: Problem.Code? {
        switch self {
        case .takenOver: .superseded
        case .kindConflict: .tokenKindConflict
        case .unregistered, .purged: .tokenUnregistered
        case .quarantined: nil
        }
    }
}
