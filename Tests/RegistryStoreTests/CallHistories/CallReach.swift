import RegistryCore
import RegistryStore

/// A rule and one of its answers.
struct Reach: Hashable, CustomStringConvertible {
    let description: String

    private init(_ rule: some StringProtocol, _ answer: some StringProtocol) { description = "\(rule): \(answer)" }

    init(_ rule: Call.Rule, _ answer: Answer) {
        let name =
            switch answer {
            case .done: "done"
            case .outcome(let outcome): outcome.rawValue
            case .action(let action): action.rawValue
            case .problem(let code): code.rawValue
            }
        self.init(rule.rawValue, name)
    }

    /// The answers that histories reach. Leases and channels have answers of their own.
    static let all: Set<Reach> = {
        let table = """
            register item registerName: registered refreshed rotated reactivated superseded
            register item registerName: token-kind-conflict token-unregistered activity-ended activity-expired not-yours
            putShared putOwned: registered refreshed rotated reactivated superseded
            putShared putOwned: token-kind-conflict token-unregistered activity-ended not-yours
            register registerName putShared putOwned: clock-skew
            item: invalid-request
            end endName delete logOut: done not-yours clock-skew
            fullState profile: done activity-ended clock-skew
            profile: superseded
            report: dropped kept-newer quarantined guarded kept delivered retired unknown
            release: done activity-not-found
            releaseSlot: done token-not-found
            endAlias erase releaseAll purge sweep: done
            """
        let lines = table.split(separator: "\n").map { $0.split(separator: ":").map { $0.split(separator: " ") } }
        return Set(lines.flatMap { line in line[0].flatMap { rule in line[1].map { Reach(rule, $0) } } })
    }()
}

extension Call {
    /// The rules that a call's answers are about, in order.
    var answeringRules: [Rule] {
        switch rule {
        case .plan, .releaseLease, .channel, .pass: []
        case .feedback: parts.map(\.rule)
        default: [rule] + parts.map(\.rule)
        }
    }
}
