import Foundation

/// An error response of the API (RFC 9457). The store and the server throw it, and clients decode it.
package struct Problem: Error, Sendable, Hashable, JSONObjectEncodable {
    /// Stable kebab-case words for programs.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        case malformedRequest = "malformed-request"
        case malformedPath = "malformed-path"
        case malformedJSON = "malformed-json"
        case unauthenticated
        case forbidden
        case installationRequired = "installation-required"
        case aliasNotAllowed = "alias-not-allowed"
        case notYours = "not-yours"
        case noSuchRoute = "no-such-route"
        case unknownApp = "unknown-app"
        case activityNotFound = "activity-not-found"
        case tokenNotFound = "token-not-found"
        case channelNotFound = "channel-not-found"
        case keyNotFound = "key-not-found"
        case installationNotFound = "installation-not-found"
        case methodNotAllowed = "method-not-allowed"
        case requestTimeout = "request-timeout"
        case superseded
        case tokenKindConflict = "token-kind-conflict"
        case tokenUnregistered = "token-unregistered"
        case channelQuota = "channel-quota"
        case activityEnded = "activity-ended"
        case activityExpired = "activity-expired"
        case feedExpired = "feed-expired"
        case feedReset = "feed-reset"
        case bodyTooLarge = "body-too-large"
        case unsupportedMediaType = "unsupported-media-type"
        case misdirectedRequest = "misdirected-request"
        case invalidRequest = "invalid-request"
        case invalidCursor = "invalid-cursor"
        case clockSkew = "clock-skew"
        case tooManyRequests = "too-many-requests"
        case headersTooLarge = "headers-too-large"
        case unavailable
        case internalError = "internal-error"

        package var status: Int { row.status }
        package var title: String { row.title }

        private var row: (status: Int, title: String) {
            switch self {
            case .malformedRequest: (400, "The request is not HTTP")
            case .malformedPath: (400, "The path is malformed")
            case .malformedJSON: (400, "The body is not JSON")
            case .unauthenticated: (401, "Credentials are missing or wrong")
            case .forbidden: (403, "The credentials do not allow this call")
            case .installationRequired: (403, "An installation id is required")
            case .aliasNotAllowed: (403, "The alias is not allowed")
            case .notYours: (403, "The record belongs to someone else")
            case .noSuchRoute: (404, "The path is unknown")
            case .unknownApp: (404, "The app or environment is unknown")
            case .activityNotFound: (404, "The activity is unknown")
            case .tokenNotFound: (404, "The token is unknown")
            case .channelNotFound: (404, "The alias has no channel")
            case .keyNotFound: (404, "The key is unknown")
            case .installationNotFound: (404, "The installation is unknown")
            case .methodNotAllowed: (405, "The method is not allowed here")
            case .requestTimeout: (408, "The request took too long")
            case .superseded: (409, "A later registration is current")
            case .tokenKindConflict: (409, "The token is of another kind")
            case .tokenUnregistered: (409, "The token is dead")
            case .channelQuota: (409, "The app has too many channels")
            case .activityEnded: (410, "The activity has ended")
            case .activityExpired: (410, "The activity has expired")
            case .feedExpired: (410, "The position is too old")
            case .feedReset: (410, "The position belongs to another database")
            case .bodyTooLarge: (413, "The body is too large")
            case .unsupportedMediaType: (415, "The media type is not supported")
            case .misdirectedRequest: (421, "The request is for another host")
            case .invalidRequest: (422, "The request is not valid")
            case .invalidCursor: (422, "The cursor is not valid")
            case .clockSkew: (422, "A time is implausible")
            case .tooManyRequests: (429, "Too many requests")
            case .headersTooLarge: (431, "The headers are too large")
            case .internalError: (500, "The service failed")
            case .unavailable: (503, "The service is unavailable")
            }
        }
    }

    package let code: Code
    /// One sentence for a developer, with the fault and the remedy.
    package let detail: String
    package var errors: [JSONFault]
    /// For a 409 or 410 about an activity.
    package var activity: ActivityStatus?
    /// For a 409 about a token of an installation.
    package var token: TokenStatus?
    /// Only on problems that depend on time.
    package var serverTime: Date?
    package var retryAfter: Duration?

    package init(_ code: Code, _ detail: String, errors: [JSONFault] = [], retryAfter: Duration? = nil) {
        (self.code, self.detail, self.errors, self.retryAfter) = (code, detail, errors, retryAfter)
    }

    /// For an item of a batch without a result from the store.
    package static let lostResult = Problem(.internalError, "The registry has no result for this item.")

    package init(faults: [JSONFault]) {
        let number = faults.count == 1 ? "one fault" : "\(faults.count) faults"
        let more = faults.count >= JSONReader.maximumFaults ? " or more" : ""
        self.init(.invalidRequest, "The request has \(number)\(more); errors lists them.", errors: faults)
    }

    /// For a complete request, in the format of RFC 9457.
    package func encode(to json: inout JSONWriter, requestID: String) {
        json.object { json in
            json.member("type", "urn:push-token-registry:problem:\(code.rawValue)")
            json.member("title", code.title)
            writeMembers(to: &json)
            json.member("requestId", requestID)
        }
    }

    /// For one item of a batch: `{code, status, detail, errors}` and the facts about its activity.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("code", code.rawValue)
        json.member("status", code.status)
        json.member("detail", detail)
        if !errors.isEmpty { json.member("errors", errors) }
        if let activity {
            json.member("activityId", activity.activityID.rawValue)
            json.member("state", activity.state.rawValue)
            json.member("reason", ifPresent: activity.reason)
            json.member("observedAt", ifPresent: activity.observedAt)
            json.member("endedAt", ifPresent: activity.endedAt)
        }
        token?.writeMembers(to: &json)
        json.member("serverTime", ifPresent: serverTime)
    }
}
