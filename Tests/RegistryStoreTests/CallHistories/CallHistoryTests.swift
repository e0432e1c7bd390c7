import RegistryCore
import RegistryStore
import TestSupport
import Testing

/// All calls of clients, senders and admins, one after another on two instances, against a model without Postgres.
@Suite(.timeLimit(.minutes(150))) struct CallHistoryTests {
    @Test func `Random histories of all calls agree with the model and reach every cell`() async throws {
        let count = TestScale.isLong ? 10_000 : 60
        let service = try await CallService()
        let first = SeededGenerator.firstSeed()
        let start = ContinuousClock.now
        var cells: Set<Cell> = []
        try await withThrowingTaskGroup(of: Set<Cell>.self) { group in
            for index in 0..<count {
                if index >= 8 { cells.formUnion(try await group.next() ?? []) }
                group.addTask { try await Self.check(CallHistory(seed: first &+ UInt64(index)), service) }
            }
            for try await found in group { cells.formUnion(found) }
        }
        let (found, all) = (cells.intersection(Cell.reachable).count, Cell.reachable.count)
        let seconds = Double((ContinuousClock.now - start).components.seconds)
        print("figure: \(count) histories of all calls from seed \(first): \(found) of \(all) cells, \(seconds) s")
        for cell in cells.subtracting(Cell.reachable).subtracting(Cell.rare) {
            Issue.record("reached, but said to be impossible: \(cell)")
        }
        if TestScale.isLong {
            for cell in Cell.reachable.subtracting(cells) { Issue.record("no history reached \(cell)") }
        } else {
            #expect(found > all / 3)
        }
    }

    @Test(arguments: CallHistory.corpus) func `A kept history agrees with the model`(_ calls: [Call]) async throws {
        _ = try await Self.check(CallHistory(calls), CallService())
    }

    /// Records a difference with the shortest history that still shows it.
    private static func check(_ history: CallHistory, _ service: CallService) async throws -> Set<Cell> {
        var cells: Set<Cell> = []
        guard var difference = try await history.play(on: service, { cells.insert($0) }) else { return cells }
        var (shortest, index) = (history, history.calls.count - 1)
        while index >= 0 {
            var shorter = shortest
            shorter.calls.remove(at: index)
            if let found = try await shorter.play(on: service) { (shortest, difference) = (shorter, found) }
            index -= 1
        }
        Issue.record("\(difference). Correct the fault, and add the history to the corpus:\n\(shortest.calls)")
        return cells
    }
}

extension CallHistory {
    /// - Returns: the first difference between the service and the model.
    fileprivate func play(on service: CallService, _ reach: (Cell) -> Void = { _ in }) async throws -> String? {
        var (player, model) = (try await CallPlayer(service), CallModel(ranks: service.ranks))
        for (index, call) in calls.enumerated() {
            player.instance = index
            let targets = model.targets(of: call)
            if call.rule == .plan, let difference = try await player.plan(call, model) { return difference }
            let expected = model.play(call)
            let actual = try await player.play(call)
            for (target, answer) in zip(targets, expected.answers) { reach(Cell(target.0, answer, target.1)) }
            if actual != expected { return "\(call): \(actual) is not \(expected)" }
            guard index % 4 == 3 || index == calls.count - 1 else { continue }
            let view = try await player.view()
            if let difference = view.difference(from: model.view()) { return "\(call): \(difference)" }
        }
        return nil
    }
}

/// The answers to senders and audits: a text for each record, the same from the service and from a model.
struct CallView: Equatable {
    private var records: [String: String] = [:]

    /// State and, if active, the token or the reason why senders do not get it.
    mutating func add(_ activity: String, _ state: ActivityState, _ reason: String?, _ token: Int?, facts: [Int?]) {
        let token = state == .active ? reason ?? token.map(String.init) : nil
        let facts = facts.map { $0.map(String.init) ?? "nil" }
        records["activity \(activity)"] = ([state.rawValue, token ?? "no token"] + facts).joined(separator: " ")
    }

    /// Tokens that senders get by an alias.
    mutating func add(_ tokens: some Sequence<Int>, under alias: Int, kind: String? = nil) {
        let tokens = Set(tokens).sorted()
        if !tokens.isEmpty { records["alias \(alias) \(kind ?? "update")"] = "\(tokens)" }
    }

    mutating func add(installation: Int, user: Int?, aliases: [Int]) {
        records["installation \(installation)"] = "user \(user ?? -1) \(aliases)"
    }

    /// Of a value that others took over, the service does not change the reason if its kind changes later.
    mutating func add(_ slot: Call.Slot?, of installation: Int, _ token: Int, _ reason: String?) {
        let isLost = reason == "taken-over" || reason == "kind-conflict"
        let slot = slot?.rawValue ?? "unknown"
        records["slot \(installation) \(slot)"] = "\(token) \(isLost ? "lost" : reason ?? "deliverable")"
    }

    func difference(from model: CallView) -> String? {
        let names = Set(records.keys).union(model.records.keys).filter { records[$0] != model.records[$0] }
        guard let name = names.min() else { return nil }
        return "\(name) is \(records[name] ?? "absent"), not \(model.records[name] ?? "absent")"
    }
}

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
