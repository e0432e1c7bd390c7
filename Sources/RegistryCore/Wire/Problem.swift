import Foundation

/// An error response of the API (RFC 9457). The store and the server throw it, and clients decode it.
package struct Problem: Error, Sendable, Hashable {
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
    }

    package let code: Code
    /// One sentence for a developer, with the fault and the remedy.
    package let detail: String
    package var errors: [JSONFault] = []
    /// For a 409 or 410 about an activity.
    package var activity: ActivityStatus?
    /// For a 409 about a token of an installation.
    package var token: TokenStatus?
    /// Only on problems that depend on time.
    package var serverTime: Date?
    package var retryAfter: Duration?

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}

extension Problem.Code {
    package var status: Int {
        switch self {
        case .malformedRequest, .malformedPath, .malformedJSON: 400
        case .unauthenticated: 401
        case .forbidden, .installationRequired, .aliasNotAllowed, .notYours: 403
        case .noSuchRoute, .unknownApp, .activityNotFound, .tokenNotFound, .channelNotFound, .installationNotFound,
            .keyNotFound:
            404
        case .methodNotAllowed: 405
        case .requestTimeout: 408
        case .superseded, .tokenKindConflict, .tokenUnregistered, .channelQuota: 409
        case .activityEnded, .activityExpired, .feedExpired, .feedReset: 410
        case .bodyTooLarge: 413
        case .unsupportedMediaType: 415
        case .misdirectedRequest: 421
        case .invalidRequest, .invalidCursor, .clockSkew: 422
        case .tooManyRequests: 429
        case .headersTooLarge: 431
        case .internalError: 500
        case .unavailable: 503
        }
    }

    package var title: String {
        switch self {
        case .malformedRequest: "The request is not HTTP"
        case .malformedPath: "The path is malformed"
        case .malformedJSON: "The body is not JSON"
        case .unauthenticated: "Credentials are missing or wrong"
        case .forbidden: "The credentials do not allow this call"
        case .installationRequired: "An installation id is required"
        case .aliasNotAllowed: "The alias is not allowed"
        case .notYours: "The record belongs to someone else"
        case .noSuchRoute: "The path is unknown"
        case .unknownApp: "The app or environment is unknown"
        case .activityNotFound: "The activity is unknown"
        case .tokenNotFound: "The token is unknown"
        case .channelNotFound: "The alias has no channel"
        case .keyNotFound: "The key is unknown"
        case .installationNotFound: "The installation is unknown"
        case .methodNotAllowed: "The method is not allowed here"
        case .requestTimeout: "The request took too long"
        case .superseded: "A later registration is current"
        case .tokenKindConflict: "The token is of another kind"
        case .tokenUnregistered: "The token is dead"
        case .channelQuota: "The app has too many channels"
        case .activityEnded: "The activity has ended"
        case .activityExpired: "The activity has expired"
        case .feedExpired: "The position is too old"
        case .feedReset: "The position belongs to another database"
        case .bodyTooLarge: "The body is too large"
        case .unsupportedMediaType: "The media type is not supported"
        case .misdirectedRequest: "The request is for another host"
        case .invalidRequest: "The request is not valid"
        case .invalidCursor: "The cursor is not valid"
        case .clockSkew: "A time is implausible"
        case .tooManyRequests: "Too many requests"
        case .headersTooLarge: "The headers are too large"
        case .internalError: "The service failed"
        case .unavailable: "The service is unavailable"
        }
    }
}

extension Problem {
    /// For an item of a batch without a result from the store.
    package static let lostResult = Problem(.internalError, "The registry has no result for this item.")
}
