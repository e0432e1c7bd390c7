import RegistryCore

/// A call's answer and the state of its target before. Histories reach every cell except ``impossibility``.
struct Cell: Hashable {
    enum Rule: String, CaseIterable {
        case register, registerName, item, end, endName, endAlias
        case fullState, profile, putShared, putOwned, delete, logOut
        case feedback, release, releaseSlot, releaseAll, erase, purge, sweep
    }

    enum Before: String, CaseIterable {
        case unknown, active, quarantined, dead, takenOver, kindConflict, dismissed, ended, expired
        case erased, ofAnother, loggedOut
    }

    let rule: Rule
    let answer: Answer
    /// Nil if the call is refused whatever the state.
    let before: Before?

    init(_ rule: Rule, _ answer: Answer, _ before: Before) {
        self.rule = rule
        self.answer = answer
        self.before =
            switch (answer, before) {
            case (.problem(.clockSkew), _), (.problem(.notYours), _), (.problem(.invalidRequest), _): nil
            case (.problem(.activityEnded), .ended) where rule != .putShared && rule != .putOwned: before
            case (.problem(.activityEnded), .erased): before
            case (.problem(.activityExpired), .expired): before
            case (.problem(.activityEnded), _), (.problem(.activityExpired), _): nil
            // Which problem the token had before does not matter to the problem of the new one.
            case (.problem, .quarantined), (.problem, .dead), (.problem, .takenOver), (.problem, .kindConflict),
                (.problem, .dismissed), (.problem, .expired):
                .active
            case (.problem, .ended), (.problem, .erased): .unknown
            default: before
            }
    }
}

extension CallModel {
    /// The rules that a call meets, each with the state of its target, in the order of the reply's answers.
    func targets(of call: Call) -> [(Cell.Rule, Cell.Before)] {
        switch call {
        case .register(let activity, _, _, _, _, _, _): [(.register, before("a\(activity)"))]
        case .registerName(let alias, _, _, let caller): [(.registerName, before(Identity(alias, caller)))]
        case .end(let activity, _, _): [(.end, before("a\(activity)"))]
        case .endName(let alias, _, let caller): [(.endName, before(Identity(alias, caller)))]
        case .endAlias(let alias): [(.endAlias, activities.contains { $0.value.has(alias) } ? .active : .unknown)]
        case .fullState(let items, _, let caller):
            [(.fullState, before(caller))] + items.map { (.item, before("a\($0.activity)")) }
        case .profile(_, _, let caller): [(.profile, before(caller))]
        case .put(let slot, _, _, let caller):
            [(slot.hasOneOwner ? .putOwned : .putShared, before(slot, caller.installation))]
        case .delete(let slot, _, let caller): [(.delete, before(slot, caller.installation))]
        case .logOut(_, let caller): [(.logOut, before(caller))]
        case .feedback(let reports): reports.map { (.feedback, before($0.token)) }
        case .release(let activity): [(.release, before("a\(activity)"))]
        case .releaseSlot(let slot, let installation): [(.releaseSlot, before(slot, installation))]
        case .releaseAll: [(.releaseAll, values.contains { $0.value.quarantine != nil } ? .quarantined : .unknown)]
        case .eraseAlias(let alias): [(.erase, activities.contains { $0.value.has(alias) } ? .active : .unknown)]
        case .eraseUser(let user): [(.erase, activities.contains { $0.value.user == user } ? .active : .unknown)]
        case .purge(let kind, let reason):
            [
                (
                    .purge,
                    reason == .quarantined && values.contains { $0.value.quarantine?.kind == kind }
                        ? .quarantined : .active
                )
            ]
        case .sweep: [(.sweep, activities.contains { state($0.value) == .expired } ? .expired : .active)]
        case .plan, .releaseLease, .pass: []
        }
    }

    private func before(_ id: String) -> Cell.Before {
        guard let activity = activities[id] else { return erasures[.activity(id)] == nil ? .unknown : .erased }
        return switch state(activity) {
        case .active: before(withheld(id))
        case .dismissed: .dismissed
        case .ended: .ended
        case .expired: .expired
        }
    }

    private func before(_ reason: Withheld?) -> Cell.Before {
        switch reason {
        case nil: .active
        case .takenOver: .takenOver
        case .kindConflict: .kindConflict
        case .quarantined: .quarantined
        case .unregistered, .purged: .dead
        }
    }

    private func before(_ identity: Identity) -> Cell.Before {
        guard let id = identities[identity]?.activity else { return .unknown }
        guard let activity = activities[id] else { return .unknown }
        return state(activity) == .active ? .active : before(id)
    }

    private func before(_ caller: Call.Caller) -> Cell.Before {
        guard let hash = caller.installation, let known = installations[hash] else {
            return caller.installation.flatMap { erasures[.installation($0)] } == nil ? .unknown : .erased
        }
        if isOfAnother(hash, caller.user) { return .ofAnother }
        return known.loggedOutAt == nil ? .active : .loggedOut
    }

    private func before(_ slot: Call.Slot, _ installation: Int?) -> Cell.Before {
        let id = SlotID(slot: slot, installation: installation ?? 0)
        guard let known = slots[id] else { return .unknown }
        return known.claim?.isPresent == true ? before(withheld(id)) : .ended
    }

    private func before(_ token: Int) -> Cell.Before {
        guard let value = values[token], value.isKnown else { return .unknown }
        guard let claim = holder(of: token)?.claims.max(by: { $0.claimedAt < $1.claimedAt }) else { return .ended }
        return before(accusation(value, claim))
    }
}

extension Cell {
    static let reachable = Set(all.filter { $0.impossibility == nil && !$0.isRare })

    /// Whether the cell contradicts the rules.
    var isImpossible: Bool { impossibility != nil && !isRare }

    /// Some histories have it, but too few for a test: a value with two accusations, or of two kinds.
    private var isRare: Bool {
        switch (answer, before) {
        case (.outcome(.refreshed), .dead), (.outcome(.refreshed), .takenOver), (.outcome(.refreshed), .kindConflict):
            rule != .item
        case (.outcome(.reactivated), .kindConflict): true
        default: false
        }
    }

    private static let all = Rule.allCases.flatMap { rule in
        rule.answers.flatMap { answer in Before.allCases.map { Cell(rule, answer, $0) } }
    }

    /// Why no history has the cell; nil if one must.
    private var impossibility: String? {
        guard let before else { return nil }
        guard rule.states.contains(before) else { return "The target has no such state." }
        switch (rule, answer, before) {
        case (.registerName, .outcome(.registered), .active), (.registerName, .outcome(.registered), .dismissed):
            return "A name-only registration always has a token."
        case (.registerName, .outcome(.registered), _): return nil
        case (.registerName, .outcome, .expired): return "Another activity begins."
        case (.item, .outcome, .expired): return "A full state schedules nothing for later."
        case (.putShared, .outcome(.reactivated), .ended), (.putOwned, .outcome(.reactivated), .ended): return nil
        case (.putShared, .outcome(.registered), .ended), (.putOwned, .outcome(.registered), .ended): return nil
        case (_, .outcome, .ended), (_, .outcome, .erased): return "An end is final, and an empty slot has no token."
        case (_, .outcome(.registered), .unknown): return nil
        case (_, .outcome, .unknown): return "There is nothing to refresh or to rotate."
        case (.register, .outcome(.registered), .active), (.item, .outcome(.registered), .active): return nil
        case (.register, .outcome(.registered), .dismissed), (.item, .outcome(.registered), .dismissed): return nil
        case (.register, .outcome(.registered), .expired): return nil
        case (_, .outcome(.registered), _): return "It has a token already."
        case (.registerName, .outcome(.reactivated), .active): return nil
        case (_, .outcome(.reactivated), .active): return "It was deliverable."
        case (_, .outcome(.refreshed), .expired): return "It is back, and so reactivated."
        case (.item, .outcome(.refreshed), _): return nil
        case (_, .outcome, _): return nil
        case (.profile, .problem(.superseded), .unknown), (.profile, .problem(.superseded), .active):
            return "Neither a log-out nor another user is later."
        case (.feedback, .action(.unknown), _): return before == .unknown ? nil : "The value is known."
        case (.feedback, .action(.retired), _): return before == .ended ? nil : "It is a current token."
        case (.feedback, .action, .unknown), (.feedback, .action, .ended): return "It is no current token."
        case (.release, .done, .unknown), (.release, .done, .erased): return "There is no such activity."
        case (.release, .problem, _): return before == .unknown || before == .erased ? nil : "It is known."
        case (.releaseSlot, .done, _): return before == .unknown || before == .ended ? "There is no such token." : nil
        case (.releaseSlot, .problem, _): return before == .unknown || before == .ended ? nil : "It is known."
        case (.logOut, .done, .ofAnother): return "Only its owner may log out."
        default: return nil
        }
    }
}

extension Cell.Rule {
    /// The states that a target can have.
    fileprivate var states: Set<Cell.Before> {
        switch self {
        case .register, .item, .end, .release:
            [.unknown, .active, .quarantined, .dead, .takenOver, .kindConflict, .dismissed, .ended, .expired, .erased]
        case .registerName, .endName: [.unknown, .active, .dismissed, .ended, .expired]
        case .putShared: [.unknown, .active, .quarantined, .dead, .kindConflict, .ended]
        case .putOwned, .delete, .releaseSlot:
            [.unknown, .active, .quarantined, .dead, .takenOver, .kindConflict, .ended]
        case .fullState, .profile, .logOut: [.unknown, .active, .ofAnother, .loggedOut, .erased]
        case .feedback: [.unknown, .active, .quarantined, .dead, .ended]
        case .endAlias, .erase: [.unknown, .active]
        case .releaseAll: [.unknown, .quarantined]
        case .purge: [.active, .quarantined]
        case .sweep: [.active, .expired]
        }
    }

    fileprivate var answers: [Answer] {
        let problems: [Problem.Code] =
            switch self {
            case .register, .registerName:
                [
                    .superseded, .tokenKindConflict, .tokenUnregistered, .activityEnded, .activityExpired, .notYours,
                    .clockSkew,
                ]
            case .item:
                [
                    .superseded, .tokenKindConflict, .tokenUnregistered, .activityEnded, .activityExpired, .notYours,
                    .invalidRequest,
                ]
            case .putShared, .putOwned:
                [.superseded, .tokenKindConflict, .tokenUnregistered, .activityEnded, .notYours, .clockSkew]
            case .end, .endName, .delete, .logOut: [.notYours, .clockSkew]
            case .fullState: [.activityEnded, .clockSkew]
            case .profile: [.superseded, .activityEnded, .clockSkew]
            case .release: [.activityNotFound]
            case .releaseSlot: [.tokenNotFound]
            case .endAlias, .feedback, .releaseAll, .erase, .purge, .sweep: []
            }
        let others: [Answer] =
            switch self {
            case .register, .registerName, .item, .putShared, .putOwned:
                RegistrationOutcome.allCases.map(Answer.outcome)
            case .feedback: FeedbackAction.allCases.map(Answer.action)
            default: [.done]
            }
        return others + problems.map(Answer.problem)
    }
}
