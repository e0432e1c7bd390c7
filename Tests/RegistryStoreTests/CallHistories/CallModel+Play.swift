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
        switch call.rule {
        case .register: return Reply(register(call, "a\(call.activity)"))
        case .registerName: return Reply(registerName(call))
        case .end: return Reply(end("a\(call.activity)", call))
        case .endName: return Reply(endName(call))
        case .endAlias: return endAll(under: .alias(call.alias))
        case .fullState: return fullState(call)
        case .profile: return Reply(profile(call))
        case .putShared, .putOwned: return Reply(put(call))
        case .delete: return Reply(delete(call))
        case .logOut: return Reply(logOut(call))
        case .feedback: return feedback(call.parts)
        case .release: return release("a\(call.activity)")
        case .releaseSlot: return release(SlotID(call))
        case .releaseAll: return releaseAll()
        case .erase: erase(call.userOrAlias)
        case .purge: return purge(call)
        case .sweep: sweep()
        case .pass: present += call.minutes * Self.minute
        case .plan, .releaseLease, .channel, .item, .report: break
        }
        return Reply(.done)
    }

    var view: CallView {
        var view = CallView()
        for (id, activity) in activities where id.hasPrefix("a") {
            let reason = activity.claim?.isPresent == true ? withheld(id)?.rawValue : nil
            view.add(id, state(activity), reason, deliverable(id), facts: [activity.type])
        }
        for (id, slot) in slots {
            guard let claim = slot.claim, claim.isPresent else { continue }
            view.add(id.slot, of: id.installation, claim.token, withheld(id)?.rawValue)
        }
        for (hash, installation) in installations {
            view.add(installation: hash, user: installation.user, aliases: installation.aliases?.aliases ?? [])
        }
        for alias in 0..<Names.aliases {
            view.add(tokens(under: alias), under: alias)
            for kind in Call.Kind.allCases where kind != .update {
                let ids = slots.keys.filter {
                    $0.slot.kind == kind && installations[$0.installation]?.has(.alias(alias)) == true
                }
                view.add(ids.compactMap { deliverable($0) }, under: alias, kind: kind.rawValue)
            }
        }
        return view
    }

    func tokens(under alias: Int) -> [Int] {
        activities.filter { $0.value.has(.alias(alias)) }.keys.compactMap { deliverable($0) }
    }
}
