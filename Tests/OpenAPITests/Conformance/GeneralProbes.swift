import HTTPTypes
import RegistryCore

/// A mistake that is possible in a request to any operation.
enum Mistake: String, Sendable, CaseIterable {
    case badEscape
    case unknownEnvironment
    case unknownApp
    case anotherMethod
    case foreignHost
    case wrongCredentials
    case clientKey
    case auditorKey
    case foreignKey
    case noJSON
    case anotherMediaType
    case largeBody

    func made(in message: Message) -> Message {
        var message = message
        switch self {
        case .badEscape: message.target += (message.target.contains("?") ? "&" : "?") + "x=%zz"
        case .unknownEnvironment: message.target.replace("/sandbox", with: "/staging")
        case .unknownApp: message.target.replace(Message.bundleID, with: "com.example.none")
        case .anotherMethod: message.method = .patch
        case .foreignHost: message.authority = "registry.example.com"
        case .wrongCredentials: message.fields[.authorization] = "Bearer nonsense"
        case .clientKey: message = message.with(TestKeys.shared.key(.client))
        case .auditorKey: message = message.with(TestKeys.shared.key(.auditor))
        case .foreignKey: message = message.with(TestKeys.shared.foreign)
        case .noJSON: message.body = message.body.map { Array($0.dropLast()) }
        case .anotherMediaType: message.fields[.contentType] = "text/plain"
        case .largeBody: message.body = message.body.map { $0 + [UInt8](repeating: 0x20, count: 2_097_152) }
        }
        return message
    }
}

extension Probe {
    private static let activities = "…/activities/"

    static let paths = [unknownScopes, limits, ids, refusedIDs, everyFault].flatMap { $0 }

    private static let unknownScopes = [
        "com.example.none/sandbox", "com.example.food/mars", "com.example.food/Sandbox", "b%20d/sandbox",
    ].map { Probe("getActivity", "in \($0)", .get("/v1/apps/\($0)/activities/a")).fails(.unknownApp) }

    private static let limits = ["0", "-1", "x", "", "1.5", "9999999999999999999"].map { limit in
        Probe("listActivitiesByAlias", "\(limit) a page", .get("…/aliases/userId/u/activities?limit=\(limit)"))
            .fails(.invalidRequest).at("/limit")
    }

    private static let ids = [
        String(repeating: "x", count: 128), String(repeating: "%C3%A9", count: 64), "a%2Fb", "%20", "...",
    ].enumerated().map { Probe("registerActivity", "as \($1)", .activity($1, 490 + $0)).gives(201) }

    private static let refusedIDs = [String(repeating: "%C3%A9", count: 65), "a%0Ab", "a%C2%85b", ".", "%2E."].map {
        Probe("registerActivity", "as \($0)", .activity($0, 499)).fails(.invalidRequest)
    }

    private static let faultyBody: JSONValue = [
        "token": "xyz", "observedAt": "now", "aliases": ["userId": ""], "installationId": "..",
    ]

    private static let everyFault: [Probe] = [
        Probe("registerActivity", "with every fault", .put(activities + Sample.longID, faultyBody).from(".."))
            .fails(.invalidRequest)
            .at("/activityId", "/X-Installation-Id", "/token", "/observedAt", "/aliases/userId", "/installationId"),
        Probe("endActivity", "with every fault", .delete(activities + "..?reason=bored&observedAt=never"))
            .fails(.invalidRequest).at("/activityId", "/reason", "/observedAt"),
        Probe("listActivitiesByAlias", "with every fault", .get("…/aliases/1/%00/activities?limit=5&limit=6"))
            .fails(.invalidRequest).at("/kind", "/value", "/limit"),
        Probe("endActivityByAlias", "with two names", .delete("…/activities?alias=a&alias=b"))
            .fails(.invalidRequest).at("/alias"),
    ]

    /// A valid request to an operation: the first probe that succeeds.
    static func sound(_ operation: String) -> Probe? { specific.first { $0.operation == operation && $0.succeeds } }
    func with(_ mistake: Mistake) -> Probe { Probe(operation, mistake.rawValue, mistake.made(in: message)) }
}
