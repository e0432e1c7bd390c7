import RegistryCore
import RegistryStore

/// A call's answer and the state of its target before, or `any` if the state does not matter to the answer.
struct Cell: Hashable, CustomStringConvertible {
    let description: String

    private init(_ rule: some StringProtocol, _ answer: some StringProtocol, _ state: some StringProtocol) {
        description = "\(rule): \(answer): \(state)"
    }

    init(_ rule: Call.Rule, _ answer: Answer, _ before: String) {
        let state =
            switch answer {
            case .problem(.activityEnded):
                before == "erased" || before == "ended" && rule != .putShared && rule != .putOwned ? before : "any"
            case .problem(.activityExpired): before == "expired" ? before : "any"
            case .problem(.clockSkew), .problem(.notYours), .problem(.invalidRequest): "any"
            case .problem where ["ended", "erased"].contains(before): "unknown"
            // Which problem the token had before does not matter to the problem of the new one.
            case .problem where !["unknown", "ofAnother", "loggedOut"].contains(before): "active"
            default: before
            }
        self.init(rule.rawValue, answer.name, state)
    }

    /// The cells that histories reach: for each of the rules, each of the answers in each of the states.
    static let reachable = table(
        """
        register                     : registered : unknown active dismissed expired
        register                     : refreshed  : active quarantined dismissed
        register                     : rotated    : active quarantined dead takenOver kindConflict dismissed expired
        register                     : reactivated: quarantined dead takenOver dismissed expired
        item                         : registered : unknown active dismissed
        item                         : refreshed  : active quarantined dead takenOver kindConflict dismissed
        item                         : rotated    : active quarantined dead takenOver kindConflict dismissed
        item                         : reactivated: quarantined dead takenOver dismissed
        registerName                 : registered : unknown ended expired
        registerName                 : refreshed rotated reactivated: active dismissed
        putShared putOwned           : registered : unknown ended
        putShared putOwned           : refreshed  : active quarantined
        putShared putOwned           : rotated    : active quarantined dead kindConflict
        putShared putOwned           : reactivated: quarantined dead ended
        putOwned                     : rotated reactivated: takenOver
        register item registerName   : superseded token-kind-conflict token-unregistered: active unknown
        register item registerName   : activity-ended: ended any
        register item                : activity-ended: erased
        register item registerName   : activity-expired: expired any
        register item registerName   : not-yours: any
        register registerName        : clock-skew: any
        item                         : invalid-request: any
        putShared putOwned           : superseded token-kind-conflict token-unregistered: active unknown
        putShared putOwned           : activity-ended not-yours clock-skew: any
        end release                  : done: active quarantined dead takenOver kindConflict dismissed ended expired
        end                          : done: unknown erased
        endName                      : done: unknown active dismissed ended expired
        delete releaseSlot           : done: active quarantined dead takenOver kindConflict
        delete                       : done: unknown ended
        logOut fullState profile     : done: unknown active loggedOut erased
        fullState profile            : done: ofAnother
        end endName delete logOut    : not-yours clock-skew: any
        fullState profile            : activity-ended: erased any
        fullState profile            : clock-skew: any
        profile                      : superseded: ofAnother loggedOut
        report                       : dropped kept-newer quarantined guarded kept delivered: active quarantined dead
        report                       : retired: ended
        report                       : unknown: unknown
        release                      : activity-not-found: unknown
        releaseSlot                  : token-not-found: unknown
        endAlias erase               : done: unknown active
        releaseAll                   : done: unknown quarantined
        purge                        : done: active quarantined
        sweep                        : done: active expired
        """
    )

    /// Cells of values with two accusations, or of two kinds. Too few histories have them for a test.
    static let rare = table(
        """
        register registerName putShared putOwned: refreshed: dead takenOver kindConflict
        register item registerName putShared putOwned: reactivated: kindConflict
        """
    )

    private static func table(_ text: String) -> Set<Cell> {
        var cells: Set<Cell> = []
        for line in text.split(separator: "\n") {
            let columns = line.split(separator: ":").map { $0.split(separator: " ") }
            for rule in columns[0] {
                for answer in columns[1] { for state in columns[2] { cells.insert(Cell(rule, answer, state)) } }
            }
        }
        return cells
    }
}

extension Answer {
    fileprivate var name: String {
        switch self {
        case .done: "done"
        case .outcome(let outcome): outcome.rawValue
        case .action(let action): action.rawValue
        case .problem(let code): code.rawValue
        }
    }
}

extension CallModel {
    /// The states of the targets that a call's answers are about, in order.
    func targets(of call: Call) -> [(Call.Rule, String)] {
        switch call.rule {
        case .plan, .releaseLease, .channel, .pass: []
        case .feedback: call.parts.map { ($0.rule, state(before: $0)) }
        default: ([call] + call.parts).map { ($0.rule, state(before: $0)) }
        }
    }

    private func state(before call: Call) -> String {
        switch call.rule {
        case .register, .item, .end, .release: state(of: "a\(call.activity)")
        case .registerName, .endName: identities[Identity(call)]?.activity.map(state(ofNamed:)) ?? "unknown"
        case .fullState, .profile, .logOut: state(ofInstallation: call)
        case .putShared, .putOwned, .delete, .releaseSlot: state(of: SlotID(call))
        case .report: state(ofValue: call.token ?? 0)
        case .endAlias, .erase: activities.contains { $0.value.has(call.userOrAlias) } ? "active" : "unknown"
        case .releaseAll: values.contains { $0.value.quarantine != nil } ? "quarantined" : "unknown"
        case .purge where call.reason == .quarantined:
            values.contains { $0.value.quarantine?.kind == call.kind } ? "quarantined" : "active"
        case .sweep: activities.contains { state($0.value) == .expired } ? "expired" : "active"
        default: "active"
        }
    }

    private func state(of id: String) -> String {
        guard let activity = activities[id] else { return erasures[.activity(id)] == nil ? "unknown" : "erased" }
        let state = state(activity)
        return state == .active ? Self.text(withheld(id)) : state.rawValue
    }

    private static func text(_ reason: Withheld?) -> String {
        switch reason {
        case nil: "active"
        case .takenOver: "takenOver"
        case .kindConflict: "kindConflict"
        case .quarantined: "quarantined"
        case .unregistered, .purged: "dead"
        }
    }

    private func state(ofNamed id: String) -> String { activities[id].map { state($0).rawValue } ?? "unknown" }

    private func state(ofInstallation call: Call) -> String {
        let hash = call.installation ?? 0
        guard let known = installations[hash] else {
            return erasures[.installation(hash)] == nil ? "unknown" : "erased"
        }
        if isOfAnother(call) { return "ofAnother" }
        return known.loggedOutAt == nil ? "active" : "loggedOut"
    }

    private func state(of id: SlotID) -> String {
        guard let known = slots[id] else { return "unknown" }
        return known.claim?.isPresent == true ? Self.text(withheld(id)) : "ended"
    }

    private func state(ofValue token: Int) -> String {
        guard let value = values[token], value.isKnown else { return "unknown" }
        guard let claim = holder(of: token)?.claims.max(by: { $0.claimedAt < $1.claimedAt }) else { return "ended" }
        return Self.text(accusation(value, claim))
    }
}
