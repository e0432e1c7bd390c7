import RegistryCore

/// Results of a call in order; one, except for batches.
struct Reply: Hashable {
    var answers: [Answer]
    /// Released, ended or purged records.
    var count: Int?
    /// Dismissed activities, or kinds with a burst guard that tripped.
    var names: [String] = []

    init(_ answer: Answer, _ count: Int? = nil) { (answers, self.count) = ([answer], count) }
    init(_ answers: [Answer], _ names: [String]) { (self.answers, self.names) = (answers, names) }
}

enum Answer: Hashable {
    case done
    case outcome(RegistrationOutcome)
    case action(FeedbackAction)
    case problem(Problem.Code)
}

extension CallModel {
    mutating func play(_ call: Call) -> Reply {
        number += 1
        switch call {
        case .register(let activity, let token, let ago, let started, let starts, let alias, let caller):
            var request = registration(token, ago, caller)
            (request.startedAt, request.startsAt) = (time(started), time(starts.map { -$0 }))
            request.aliases = alias.map { [$0] }
            return Reply(register(request, "a\(activity)", caller))
        case .registerName(let alias, let token, let ago, let caller):
            var request = registration(token, ago, caller)
            request.name = alias
            return Reply(register(request, name: alias, caller))
        case .end(let activity, let ago, let caller): return Reply(end("a\(activity)", at: time(ago), caller))
        case .endName(let alias, let ago, let caller): return Reply(end(name: alias, at: time(ago), caller))
        case .endAlias(let alias): return endAll(under: alias)
        case .fullState(let items, let ago, let caller):
            return fullState(items, at: present - ago * Self.minute, caller)
        case .profile(let alias, let ago, let caller): return Reply(put(alias.map { [$0] }, at: time(ago), caller))
        case .put(let slot, let token, let ago, let caller): return Reply(put(token, in: slot, at: time(ago), caller))
        case .delete(let slot, let ago, let caller): return Reply(delete(slot, at: time(ago), caller))
        case .logOut(let ago, let caller): return Reply(logOut(at: time(ago), caller))
        case .feedback(let reports): return feedback(reports)
        case .release(let activity): return release("a\(activity)")
        case .releaseSlot(let slot, let installation): return release(SlotID(slot: slot, installation: installation))
        case .releaseAll: return releaseAll()
        case .eraseAlias(let alias):
            return Reply(erase(.alias(alias), { $0.has(alias) }, { $0.has(alias) }))
        case .eraseUser(let user): return Reply(erase(.user(user), { $0.user == user }, { $0.user == user }))
        case .plan, .releaseLease: return Reply(.done)
        case .purge(let kind, let reason): return purge(kind, reason)
        case .sweep: return Reply(sweep())
        case .pass(let minutes):
            present += minutes * Self.minute
            return Reply(.done)
        }
    }

    private func registration(_ token: Int, _ ago: Int?, _ caller: Call.Caller) -> Registration {
        Registration(token: token, observedAt: time(ago), installation: caller.installation, user: caller.user)
    }

    /// All that senders and audits read.
    var view: CallView {
        var view = CallView()
        for (id, activity) in activities {
            if id.hasPrefix("a") {
                let reason = activity.claim?.isPresent == true ? withheld(id)?.rawValue : nil
                view.add(id, state(activity), reason, deliverable(id))
            }
            for alias in activity.aliases?.aliases ?? [] {
                if let token = deliverable(id) { view.resolved["\(alias)", default: []].insert(token) }
            }
        }
        for (hash, installation) in installations {
            view.installations[hash] = "\(installation.user ?? -1) \(installation.aliases?.aliases ?? [])"
        }
        for (id, slot) in slots {
            guard let claim = slot.claim, claim.isPresent else { continue }
            view.add(id.slot, of: id.installation, claim.token, withheld(id)?.rawValue)
            for alias in installations[id.installation]?.aliases?.aliases ?? [] {
                if let token = deliverable(id) { view.resolved["\(alias) \(id.slot.kind)", default: []].insert(token) }
            }
        }
        view.resolved = view.resolved.filter { !$0.value.isEmpty }
        return view
    }
}

struct CallView: Equatable {
    /// State and, if active, the token or the reason why senders do not get it, by id.
    var activities: [String: String] = [:]
    /// Tokens that senders get, by alias, or alias and kind.
    var resolved: [String: Set<Int>] = [:]
    /// User and aliases, by number.
    var installations: [Int: String] = [:]
    /// Token and whether senders get it, by installation and slot.
    var slots: [String: String] = [:]

    mutating func add(_ activity: String, _ state: ActivityState, _ reason: String?, _ token: Int?) {
        let token = state == .active ? reason ?? token.map(String.init) : nil
        activities[activity] = state.rawValue + (token.map { " \($0)" } ?? "")
    }

    /// Of a value that others took over, the service does not change the reason if its kind changes later.
    mutating func add(_ slot: Call.Slot?, of installation: Int, _ token: Int, _ reason: String?) {
        let isLost = reason == "taken-over" || reason == "kind-conflict"
        let key = "\(installation) \(slot?.rawValue ?? "unknown")"
        slots[key] = "\(token) \(isLost ? "lost" : reason ?? "deliverable")"
    }

    func difference(from model: CallView) -> String? {
        if activities != model.activities { return "activities \(activities) are not \(model.activities)" }
        if resolved != model.resolved { return "resolved \(resolved) are not \(model.resolved)" }
        if installations != model.installations {
            return "installations \(installations) are not \(model.installations)"
        }
        return slots == model.slots ? nil : "slots \(slots) are not \(model.slots)"
    }
}
