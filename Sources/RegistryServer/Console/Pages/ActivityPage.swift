import RegistryCore
import RegistryRules
import RegistryStore

extension ConsoleCall {
    private static let eventCount = 200

    func showActivity() async throws -> Response {
        guard let id = try? ActivityID(call.parameter("activityId")),
            let life = try await registry.life(of: id, events: Self.eventCount, in: scope)
        else {
            throw Problem(
                .activityNotFound,
                "The activity is unknown in this app and environment, or its retention is over."
            )
        }
        let (activity, aliases) = (life.explanation, Alias.all(in: life.aliases))
        var leases: [ExplainedLease] = []
        if let installation = activity.installation {
            leases = try await registry.leases(of: installation, in: scope).filter { aliases.contains($0.lease.alias) }
        }
        return try page(
            "activity",
            title: id.description,
            [
                "life": life, "activity": activity, "aliases": aliases, "events": life.entries(at: now),
                "eventCount": Self.eventCount, "leases": leases,
                "userSearch": life.subject.map { "subject:\(SearchText.quoted($0.string))" },
                "frequentPushes": life.facts.frequentPushesEnabled.map { $0 ? "on" : "off" },
                "metadata": life.metadata.flatMap(Self.readable),
                "mayRelease": activity.facts.availability == .quarantined && mayChange,
            ]
        )
    }

    func releaseActivity() async throws -> Response {
        guard let id = try? ActivityID(call.parameter("activityId")) else {
            throw Problem(.activityNotFound, "The activity id is not valid.")
        }
        _ = try await registry.release(id, in: scope, by: principal.who)
        return .seeOther(try link.page("activities/\(ConsoleLink.encoded(id.description))"))
    }

    private static func readable(_ json: [UInt8]) -> String? {
        guard case .object(let object)? = try? JSONParser.parse(json), !object.isEmpty else { return nil }
        return object.map { "\($0.key): \($0.value)" }.joined(separator: "\n")
    }
}

extension ActivityLife.RetiredToken: Presentable {
    static var computed: Properties { ["sentence": \.sentence] }

    private var sentence: String {
        switch reason {
        case "rotated": "rotated: a newer token replaced it"
        case "unregistered": "unregistered: APNs reported it as dead"
        case "taken-over": "taken over: another activity registered it later"
        case "purged": "purged by an admin"
        default: reason
        }
    }
}
