import RegistryCore

extension CallModel {
    struct Registration {
        var token: Int?
        var observedAt: Int?
        var startedAt: Int?
        var startsAt: Int?
        var installation: Int?
        var user: Int?
        var aliases: [Int]?
        /// Of a name-only activity.
        var name: Int?
    }

    /// A new token without a time counts as observed at receipt, the current one claims nothing new, and a former one
    /// keeps its time.
    private func times(_ request: Registration, _ id: String) -> (observed: Int, claimed: Int, stated: Int) {
        if let time = request.observedAt { return (time, min(time, now), time) }
        guard let token = request.token, let current = activities[id]?.claim else { return (now, now, now) }
        if token == current.token {
            return (current.observedAt, withheld(id) == .quarantined ? now : current.claimedAt, now)
        }
        let former = values[token]?.owner.flatMap { $0.activity == id ? $0.at : nil } ?? now
        return (former, min(former, now), former)
    }

    private func starts(_ request: Registration) -> (at: Int, scheduled: Int?) {
        let seen = request.observedAt ?? now
        return (min(request.startedAt ?? seen, now), request.startsAt.flatMap { $0 > seen ? $0 : nil })
    }

    /// Why a registration changes nothing.
    func refusal(_ request: Registration, _ id: String, _ caller: Call.Caller) -> Problem.Code? {
        if isSkewed(request.observedAt) || isSkewed(request.startedAt) { return .clockSkew }
        if let known = activities[id], !mayChange(known, caller) { return .notYours }
        let start = starts(request)
        let isLate = request.observedAt.map { $0 + Self.lifetime <= now } ?? false
        if isLate || max(start.at, start.scheduled ?? start.at) + Self.lifetime <= now { return .activityExpired }
        var names = [request.installation.map(Name.installation), request.user.map(Name.user)].compactMap(\.self)
        names += (request.aliases ?? [request.name].compactMap(\.self)).map(Name.alias)
        let isErased = erasures[.activity(id)] != nil || isErased(names, times(request, id).observed)
        return isErased ? .activityEnded : nil
    }

    mutating func merge(_ request: Registration, _ id: String) -> Answer {
        let (times, start) = (times(request, id), starts(request))
        let (known, reason) = (activities[id], withheld(id))
        var activity = known ?? Activity(startedAt: start.at)
        let fullStateAt = activity.installation.flatMap { installations[$0]?.fullStateAt } ?? .min
        let seen = activity.observedAt ?? .min
        let wasExpired = known != nil && activity.expiresAt <= now
        activity.startedAt = min(activity.startedAt, start.at)
        activity.startsAt = activity.startsAt ?? start.scheduled
        activity.observedAt = max(seen, times.observed)
        activity.installation = activity.installation ?? request.installation
        activity.user = activity.user ?? request.user
        if let name = request.name, request.aliases == nil, activity.aliases == nil {
            activity.aliases = Stamped(aliases: [name], at: .min)
        }
        activity.aliases.replace(request.aliases, at: times.stated)
        if activity.expiresAt > now { activity.isExpiryRecorded = false }
        let isBack = wasExpired || fullStateAt > seen && fullStateAt <= max(seen, times.observed)
        var outcome: RegistrationOutcome? = known == nil ? .registered : .refreshed
        if let token = request.token {
            let claim = Claim(token: token, observedAt: times.observed, claimedAt: times.claimed)
            outcome = activity.merge(claim, at: now, precedes)
            if known == nil { outcome = .registered }
        }
        if activity.isExpiryRecorded { activity.claim?.isPresent = false }
        activities[id] = activity
        if let token = request.token, request.observedAt != nil || activity.claim?.token == token {
            let owner = values[token]?.owner
            if owner.map({ ($0.at, $0.activity) < (times.observed, id) }) ?? true {
                values[token, default: Value()].owner = (id, times.observed)
            }
        }
        if state(activity) == .ended { return .problem(.activityEnded) }
        if activity.expiresAt <= now { return .problem(.activityExpired) }
        guard let outcome else { return .problem(.superseded) }
        if request.token != nil, let reason = withheld(id), let code = reason.code { return .problem(code) }
        let isReactivated = known != nil && outcome == .refreshed && (isBack || reason != nil && withheld(id) == nil)
        return .outcome(isReactivated ? .reactivated : outcome)
    }

    mutating func register(_ request: Registration, _ id: String, _ caller: Call.Caller) -> Answer {
        if let code = refusal(request, id, caller) { return .problem(code) }
        return merge(request, id)
    }

    mutating func register(_ request: Registration, name: Int, _ caller: Call.Caller) -> Answer {
        if isSkewed(request.observedAt) { return .problem(.clockSkew) }
        let key = Identity(name, caller)
        let identity = identities[key]
        let known = identity?.activity.flatMap { id in activities[id].map { (id: id, activity: $0) } }
        let ended = Answer.problem(known.map { mayChange($0.activity, caller) } ?? true ? .activityEnded : .notYours)
        let seen = request.observedAt ?? now
        var lastEnd = identity?.endedAt
        if let activity = known?.activity, state(activity) == .ended {
            let end = activity.endedAt ?? activity.installation.flatMap { installations[$0]?.loggedOutAt }
            lastEnd = [lastEnd, end, activity.observedAt].compactMap(\.self).max()
        }
        if let lastEnd, seen <= lastEnd { return ended }
        var id = known?.id
        if let activity = known?.activity {
            let isRepeated = request.observedAt == nil && request.token == activity.claim?.token
            switch state(activity) {
            case .active, .dismissed: break
            case .ended:
                if isRepeated { return ended }
                id = nil
            case .expired: if !isRepeated, seen >= activity.expiresAt { id = nil }
            }
        }
        let chosen = id ?? newID()
        if let code = refusal(request, chosen, caller) { return .problem(code) }
        identities[key] = (chosen, identity?.endedAt)
        return merge(request, chosen)
    }

    /// Lower than the ids that clients give, like the service's.
    private mutating func newID() -> String {
        named += 1
        return "0\(1000 + named)"
    }

    mutating func end(_ id: String, at time: Int?, _ caller: Call.Caller) -> Answer {
        if erasures[.activity(id)] != nil { return .done }
        if isSkewed(time) { return .problem(.clockSkew) }
        if let known = activities[id], !mayChange(known, caller) { return .problem(.notYours) }
        var activity = activities[id] ?? Activity(startedAt: now)
        activity.endedAt = min(activity.endedAt ?? .max, time ?? now)
        if caller.isClient {
            activity.installation = activity.installation ?? caller.installation
            activity.user = activity.user ?? caller.user
        }
        activities[id] = activity
        return .done
    }

    mutating func end(name: Int, at observed: Int?, _ caller: Call.Caller) -> Answer {
        if isSkewed(observed) { return .problem(.clockSkew) }
        let key = Identity(name, caller)
        let identity = identities[key]
        let known = identity?.activity.flatMap { activities[$0] }
        let time = observed ?? max(now, known?.observedAt ?? now)
        // The end belongs to an earlier activity if the current one was observed later.
        let isEarlier = known?.observedAt.map { $0 > time } ?? false
        if let known, !isEarlier, !mayChange(known, caller) { return .problem(.notYours) }
        let id = known.flatMap { _ in identity?.activity } ?? newID()
        identities[key] = (id, max(identity?.endedAt ?? time, time))
        return isEarlier ? .done : end(id, at: observed, caller)
    }

    mutating func fullState(_ items: [Call.Item], at time: Int, _ caller: Call.Caller) -> Reply {
        guard let installation = caller.installation else { return Reply(.done) }
        if let code = enterAsOwner(installation, at: time, aliases: [], caller) { return Reply(.problem(code)) }
        let previous = installations[installation]?.fullStateAt
        let before = activities.filter { state($0.value) == .active }
        var (seen, tokens, present): (Set<Int>, Set<Int>, Set<String>) = ([], [], [])
        var answers = [Answer.done]
        for item in items {
            let id = "a\(item.activity)"
            guard seen.insert(item.activity).inserted else {
                answers.append(.problem(.invalidRequest))
                continue
            }
            let isRepeated = item.token.map { !tokens.insert($0).inserted } ?? false
            let request = Registration(
                token: isRepeated ? nil : item.token,
                observedAt: time,
                installation: installation,
                user: caller.user
            )
            let answer = register(request, id, caller)
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
