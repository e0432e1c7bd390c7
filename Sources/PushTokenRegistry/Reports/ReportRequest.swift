import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A report as a call of the API. One report observed at one time always has the same bytes.
struct ReportRequest {
    let method: String
    /// Below `/v1/apps/{bundleId}/{environment}/`, not yet percent-encoded.
    let path: [String]
    var query: [String: String] = [:]
    var body: [String: Any]?

    init(_ report: Report, observedAt: Timestamp, installation: String) {
        let base = ["installations", installation]
        switch report {
        case .registration(let registration):
            self.init(put: ["activities", registration.activityID], registration.json, observedAt)
        case .end(let activityID, let isDismissal):
            self.init(delete: ["activities", activityID], observedAt)
            query["reason"] = isDismissal ? "dismissed" : "ended"
        case .startToken(let attributesType, let token):
            self.init(base + ["start-tokens", attributesType], token, observedAt)
        case .installationToken(let kind, let token): self.init(base + ["tokens", kind.rawValue], token, observedAt)
        case .installation(let aliases, let metadata):
            var body: [String: Any] = [:]
            body["aliases"] = aliases
            body["metadata"] = metadata
            self.init(put: base, body, observedAt)
        case .fullState(let activities):
            let items = activities.map { $0.json.merging(["activityId": $0.activityID]) { $1 } }
            self.init(put: base + ["activities"], ["activities": items], observedAt)
        case .logOut: self.init(delete: base, observedAt)
        }
    }

    private init(put path: [String], _ body: [String: Any], _ observedAt: Timestamp) {
        (method, self.path) = ("PUT", path)
        self.body = body.merging(["observedAt": observedAt.text]) { $1 }
    }

    private init(delete path: [String], _ observedAt: Timestamp) {
        (method, self.path, query) = ("DELETE", path, ["observedAt": observedAt.text])
    }

    private init(_ path: [String], _ token: PushToken?, _ observedAt: Timestamp) {
        if let token {
            self.init(put: path, ["token": token.hexadecimal], observedAt)
        } else {
            self.init(delete: path, observedAt)
        }
    }

    /// The address. Each part of the path is encoded by itself, so that a `/` within an id is data.
    func url(service: URL, bundleID: String, environment: APNSEnvironment) -> URL? {
        guard var address = URLComponents(url: service, resolvingAgainstBaseURL: false) else { return nil }
        let parts = ["v1", "apps", bundleID, environment.rawValue] + path
        let base =
            address.percentEncodedPath.hasSuffix("/")
            ? address.percentEncodedPath.dropLast() : Substring(address.percentEncodedPath)
        address.percentEncodedPath = ([String(base)] + parts.map(Self.encoded)).joined(separator: "/")
        let pairs = query.sorted { $0.key < $1.key }.map { "\($0.key)=\(Self.encoded($0.value))" }
        address.percentEncodedQuery = pairs.isEmpty ? nil : pairs.joined(separator: "&")
        return address.url
    }

    /// Members sorted by name, so that a repetition has the same bytes.
    var bodyBytes: Data? {
        body.flatMap {
            try? JSONSerialization.data(withJSONObject: $0, options: [.sortedKeys, .withoutEscapingSlashes])
        }
    }

    private static func encoded(_ part: String) -> String {
        part.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    /// RFC 3986, section 2.3.
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    )
}

extension URLRequest {
    /// The request of an entry: the same bytes each time it is sent.
    init?(
        _ entry: OutboxEntry,
        _ installationID: String,
        _ credential: String,
        _ configuration: LiveActivityRegistry.Configuration,
        _ environment: APNSEnvironment
    ) {
        let call = ReportRequest(entry.report, observedAt: entry.observedAt, installation: installationID)
        let url = call.url(service: configuration.service, bundleID: configuration.bundleID, environment: environment)
        guard let url else { return nil }
        self.init(url: url)
        httpMethod = call.method
        httpBody = call.bodyBytes
        allHTTPHeaderFields = [
            "Authorization": "Bearer \(credential)", "X-Installation-Id": installationID,
            "Request-Id": "client-\(String(entry.id, radix: 16))", "User-Agent": configuration.userAgent,
        ]
        if httpBody != nil { setValue("application/json", forHTTPHeaderField: "Content-Type") }
    }
}
