import Foundation
import PushTokenRegistry
import PushTokenRegistryTestSupport

/// The registry as senders see it, over HTTP.
struct SenderView: Sendable {
    let service: URL
    let key: String?
    let transport: HTTPTransport

    struct Handed: Sendable, Hashable {
        /// Nil for tokens of an installation.
        let activityID: String?
        let attributesType: String?
        /// Lower-case hex.
        let token: String
    }

    private var base: String { "/v1/apps/\(SimulatedService.bundleID)/sandbox" }

    func activities(under values: [String], kind: String = "liveactivityId") async throws -> [Handed] {
        guard !values.isEmpty else { return [] }
        let aliases = values.map { ["kind": kind, "value": $0] }
        let answer = try await call("POST", "\(base)/resolve", ["aliases": aliases])
        guard let results = answer["results"] as? [[String: Any]], results.count == values.count else {
            throw UnexpectedAnswer("resolve gave no results")
        }
        return results.flatMap { Self.handed($0["activities"]) }
    }

    /// The tokens of a user's installations.
    ///
    /// - Parameter list: `start-tokens`, `device-tokens` or `tokens/widget`.
    func tokens(_ list: String, ofUser user: String) async throws -> [Handed] {
        Self.handed(try await call("GET", "\(base)/aliases/userId/\(user)/\(list)", nil)["tokens"])
    }

    /// The actions for an order's activities, which are renewed some time before their end.
    func plan(_ alias: String, attributesType: String, renewBefore: String = "PT1H") async throws -> [String] {
        let body: [String: Any] = [
            "alias": ["kind": "liveactivityId", "value": alias], "attributesType": attributesType,
            "renewBefore": renewBefore,
        ]
        let installations = try await call("POST", "\(base)/plan", body)["installations"] as? [[String: Any]]
        return installations?.compactMap { $0["action"] as? String } ?? []
    }

    func token(ofActivity id: String) async throws -> String? {
        try await call("GET", "\(base)/activities/\(id)", nil)["token"] as? String
    }

    func state(ofActivity id: String) async throws -> String? {
        try await call("GET", "\(base)/activities/\(id)", nil)["state"] as? String
    }

    /// A time of an activity, such as `observedAt`.
    func time(_ member: String, ofActivity id: String) async throws -> Timestamp? {
        let text = try await call("GET", "\(base)/activities/\(id)", nil)[member] as? String
        return text.flatMap(Timestamp.init(text:))
    }

    private static func handed(_ list: Any?) -> [Handed] {
        (list as? [[String: Any]] ?? []).compactMap { item in
            guard let token = item["token"] as? String else { return nil }
            let (id, type) = (item["activityId"] as? String, item["attributesType"] as? String)
            return Handed(activityID: id, attributesType: type, token: token)
        }
    }

    /// Makes a call, and repeats it while no usable response comes.
    func call(_ method: String, _ path: String, _ body: [String: Any]?) async throws -> [String: Any] {
        var fields = ["Content-Type": "application/json"]
        if let key { fields["Authorization"] = "Bearer \(key)" }
        let url = URL(string: service.absoluteString + path)!
        let bytes = try body.map { try JSONSerialization.data(withJSONObject: $0) }
        let request = RecordedRequest(method: method, url: url, fields: fields, body: bytes)
        for _ in 0..<5 {
            guard let answer = await transport.send(request.urlRequest).answer, answer.status < 429 else { continue }
            guard [200, 201, 404].contains(answer.status) else {
                throw UnexpectedAnswer("\(method) was answered with \(answer.status)")
            }
            return try JSONSerialization.jsonObject(with: answer.body) as? [String: Any] ?? [:]
        }
        throw UnexpectedAnswer("\(method) was not answered")
    }
}

struct UnexpectedAnswer: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
