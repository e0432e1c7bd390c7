import RegistryCore

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
