import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension URLRequest {
    /// The call of an entry: the same bytes each time it is sent.
    init?(
        _ entry: OutboxEntry,
        _ installationID: String,
        _ credential: String,
        _ configuration: LiveActivityRegistry.Configuration,
        _ environment: APNSEnvironment
    ) {
        guard var address = URLComponents(url: configuration.service, resolvingAgainstBaseURL: false) else {
            return nil
        }
        let (path, body) = entry.report.call(of: installationID)
        let base = address.percentEncodedPath.split(separator: "/").map(String.init)
        let parts = ["v1", "apps", configuration.bundleID, environment.rawValue] + path
        address.percentEncodedPath = "/" + (base + parts.map(Self.encoded)).joined(separator: "/")
        let observedAt = entry.observedAt.text
        if body == nil { address.queryItems = [URLQueryItem(name: "observedAt", value: observedAt)] }
        if case .end(_, let isDismissal) = entry.report {
            address.queryItems?.append(URLQueryItem(name: "reason", value: isDismissal ? "dismissed" : "ended"))
        }
        guard let url = address.url else { return nil }
        self.init(url: url)
        httpMethod = body == nil ? "DELETE" : "PUT"
        allHTTPHeaderFields = [
            "Authorization": "Bearer \(credential)", "X-Installation-Id": installationID,
            "Request-Id": "client-\(String(entry.id, radix: 16))", "User-Agent": configuration.userAgent,
        ]
        guard let body = body?.merging(["observedAt": observedAt], uniquingKeysWith: { $1 }) else { return }
        httpBody = try? JSONSerialization.data(withJSONObject: body, options: [.sortedKeys, .withoutEscapingSlashes])
        setValue("application/json", forHTTPHeaderField: "Content-Type")
    }

    /// A `/` within an id is data.
    private static func encoded(_ part: String) -> String {
        part.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed.subtracting(["/"])) ?? ""
    }
}

extension Report {
    /// The path below `/v1/apps/{bundleId}/{environment}`, and the members of the body; without a body it is a DELETE.
    fileprivate func call(of installationID: String) -> (path: [String], body: [String: Any]?) {
        let base = ["installations", installationID]
        switch self {
        case .registration(let registration): return (["activities", registration.activityID], registration.json)
        case .end(let activityID, _): return (["activities", activityID], nil)
        case .startToken(let attributesType, let token): return (base + ["start-tokens", attributesType], token?.json)
        case .installationToken(let kind, let token): return (base + ["tokens", kind.rawValue], token?.json)
        case .installation(let aliases, let metadata):
            let members: [String: Any?] = ["aliases": aliases, "metadata": metadata]
            return (base, members.compactMapValues { $0 })
        case .fullState(let activities):
            let items = activities.map { $0.json.merging(["activityId": $0.activityID]) { $1 } }
            return (base + ["activities"], ["activities": items])
        case .logOut: return (base, nil)
        }
    }
}

extension PushToken {
    fileprivate var json: [String: Any] { ["token": hexadecimal] }
}
