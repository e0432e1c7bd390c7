import PostgresDriver
import RegistryCore
import RegistryRules

struct Erasures {
    /// By request: whether its activity was erased, and the last erasure of another name.
    private var found: [Int: (isActivity: Bool, at: Timestamp)] = [:]

    init() {}

    /// - Parameter names: the names in each request, beginning with its activity's.
    init(of names: [[UTF8Text]], in scope: Scope, _ transaction: borrowing PostgresTransaction) throws {
        let owners = names.enumerated().flatMap { request, names in
            names.indices.map { (request: request, isActivity: $0 == 0) }
        }
        let erased = try transaction.execute(Self.find(Array(names.joined()), in: scope)).decode { row in
            (owner: owners[try row["position"] - 1], at: try row["erased_at"] as Timestamp)
        }
        for (owner, time) in erased {
            let known = found[owner.request] ?? (false, .distantPast)
            found[owner.request] = (known.isActivity || owner.isActivity, max(known.at, time))
        }
    }

    static func find(_ names: [UTF8Text], in scope: Scope) -> SQL {
        Query("activities.find-erasures")(["scope": scope.id, "app": scope.app.id, "names": names])
    }

    static func last(_ result: PostgresResult) throws -> Timestamp? {
        try result.decode { try $0["erased_at"] as Timestamp }.max()
    }

    /// Whether the request's activity is erased, or another name was erased at or after the observation.
    func concern(_ request: Int, observedAt: Timestamp) -> Bool {
        found[request].map { $0.isActivity || $0.at >= observedAt } ?? false
    }

    static func name(of activity: ActivityID) -> UTF8Text { "activity:\(activity)" }
}

extension Registration {
    /// Its activity's name first.
    var erasableNames: [UTF8Text] {
        var names = [Erasures.name(of: id)]
        if let installation = body.installation { names.append(ErasureSubject.installation(installation).name) }
        if let subject = body.subject { names.append(ErasureSubject.subject(subject).name) }
        let aliases = body.aliases ?? body.defaultAliases
        return names + (aliases?.aliases ?? []).map { ErasureSubject.alias($0).name }
    }
}
