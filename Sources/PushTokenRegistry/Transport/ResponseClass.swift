import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The meaning of a response. Only the registry's own response settles a report (C12).
///
/// A captive portal's 200, a proxy's 403 page or a redirect lacks `Request-Id`, the registry's JSON, or a problem with a code.
package enum ResponseClass: Sendable, Hashable {
    case accepted
    case refused(status: Int, Problem)
    /// Send the same bytes again: 408, 429 or 5xx from the registry, or any response with `Retry-After`.
    case retryLater(after: Duration?)
    /// No response, or not the registry's.
    case none
    /// No connection was made.
    case notSent

    init(_ result: TransportResult) {
        guard case .response(let response, let body) = result else {
            self = if case .notSent = result { .notSent } else { .none }
            return
        }
        let isOurs = !(response.value(forHTTPHeaderField: "Request-Id") ?? "").isEmpty
        let problem = isOurs ? try? JSONDecoder().decode(Problem.self, from: body) : nil
        switch response.statusCode {
        case 408, 429, 500...599:
            let pause = Self.pause(response.value(forHTTPHeaderField: "Retry-After"))
            // A proxy without a service behind it counts as silence.
            self = isOurs || pause != nil ? .retryLater(after: pause) : .none
        case 204 where isOurs: self = .accepted
        case 200...299 where isOurs: self = Self.isOurs(body) ? .accepted : .none
        case 400...499: self = problem.map { .refused(status: response.statusCode, $0) } ?? .none
        default: self = .none
        }
    }

    /// Each body of the registry's has at least one of these members.
    private static func isOurs(_ body: Data) -> Bool {
        let json = try? JSONSerialization.jsonObject(with: body) as? [String: Any]
        return json?["outcome"] is String || json?["installation"] is String || json?["results"] is [Any]
    }

    /// `Retry-After` in seconds. The registry never sends a date, and for a proxy's date the client's own pause applies.
    private static func pause(_ text: String?) -> Duration? {
        text.flatMap { Int($0) }.flatMap { 0...86_400 ~= $0 ? .seconds($0) : nil }
    }

    /// The registry may have merged the report, although it refused it (R0).
    var tookTheTime: Bool {
        if case .refused(let status, _) = self { status == 409 || status == 410 } else { self == .accepted }
    }

    /// The registry refused the report for its own times and stored nothing of it (R5). After `activity-expired` the stored activity
    /// may have expired as well, and nothing depends on its time any more.
    var refusesTheTime: Bool {
        guard case .refused(_, let problem) = self else { return false }
        return problem.code == .clockSkew || problem.code == .activityExpired
    }
}

extension HTTPURLResponse {
    /// The registry's clock: `serverTime` of a problem, otherwise `Date`; nil if the response may be a proxy's.
    func serverTime(_ responseClass: ResponseClass) -> Timestamp? {
        let date = value(forHTTPHeaderField: "Date").flatMap(Timestamp.init(httpDate:))
        return switch responseClass {
        case .none, .notSent, .retryLater: nil
        case .refused(_, let problem): problem.serverTime.flatMap(Timestamp.init(text:)) ?? date
        case .accepted: date
        }
    }
}

/// A problem of the registry's (RFC 9457), as far as the client needs it.
package struct Problem: Sendable, Hashable, Decodable {
    package let code: LiveActivityRegistry.ProblemCode
    package var detail: String?
    /// The registry's clock, in RFC 3339, in problems that depend on time.
    package var serverTime: String?
}
