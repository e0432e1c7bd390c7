import Foundation

/// A report as a call of the API: the same bytes each time, for the same report observed at the same time.
struct ReportRequest {
    let method: String
    /// Below `/v1/apps/{bundleId}/{environment}/`, not yet percent-encoded.
    let path: [String]
    var query: [String: String] = [:]
    var body: [String: Any]?

    init(_ report: Report, observedAt: Timestamp, installation: String) {
        let place = ["installations", installation]
        switch report {
        case .registration(let registration):
            self.init(put: ["activities", registration.activityID.string], registration.json, observedAt)
        case .end(let activityID, let isDismissal):
            self.init(delete: ["activities", activityID.string], observedAt)
            query["reason"] = isDismissal ? "dismissed" : "ended"
        case .startToken(let attributesType, let token):
            self.init(place + ["start-tokens", attributesType.string], token, observedAt)
        case .installationToken(let kind, let token): self.init(place + ["tokens", kind.rawValue], token, observedAt)
        case .installation(let aliases): self.init(put: place, ["aliases": aliases], observedAt)
        case .fullState(let activities):
            let items = activities.map { $0.json.merging(["activityId": $0.activityID.string]) { $1 } }
            self.init(put: place + ["activities"], ["activities": items], observedAt)
        case .logOut: self.init(delete: place, observedAt)
        }
    }

    private init(put path: [String], _ body: [String: Any], _ observedAt: Timestamp) {
        (method, self.path) = ("PUT", path)
        self.body = body.merging(["observedAt": observedAt.text]) { $1 }
    }

    private init(delete path: [String], _ observedAt: Timestamp) {
        (method, self.path, query) = ("DELETE", path, ["observedAt": observedAt.text])
    }

    private init(_ path: [String], _ token: Token?, _ observedAt: Timestamp) {
        if let token {
            self.init(put: path, ["token": token.hexadecimal], observedAt)
        } else {
            self.init(delete: path, observedAt)
        }
    }

    /// The address: each part of the path is encoded by itself, so that a `/` within an id is data.
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

    /// Members in the order of their names, so that a repetition has the same bytes.
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
