import Foundation

extension LiveActivityRegistry {
    /// Something that happened to a report. No event contains a token.
    ///
    /// ```swift
    /// for await event in registry.events {
    ///     if case .refused(let subject, let code, let detail, _) = event { logger.error("\(subject): \(code.rawValue). \(detail)") }
    /// }
    /// ```
    public enum Event: Sendable, Hashable {
        /// The registry accepted a report.
        case registered(Subject)
        /// The registry refused a report. If `isKept`, the client repeats it for a day, a log-out, or after a refused
        /// JWT, without end.
        case refused(Subject, code: ProblemCode, detail: String, isKept: Bool)
        /// The client gave a report up without a response: more than 500 waited, and this one was the oldest.
        case dropped(Subject)
        /// The registry has not responded since `since`. The reports wait.
        case unreachable(since: Date)
        /// The file of waiting reports was not readable as the client's own. It was renamed, and a new one begun.
        case fileSetAside
    }

    /// The record that a report is about. Of two reports about one record the outbox keeps one (C9).
    public enum Subject: Sendable, Hashable {
        /// The token of an activity.
        case activity(String)
        /// The end of an activity.
        case end(ofActivity: String)
        /// The start token of an attributes type.
        case startToken(attributesType: String)
        /// The token of ordinary notifications.
        case deviceToken
        /// The token of the app's widgets.
        case widgetToken
        /// The installation with its names.
        case installation
        /// The list of all running activities.
        case fullState
        /// The log-out.
        case logOut
    }

    /// The `code` of a problem that the registry responded with. `ErrorCodes` in its guides explains all codes.
    public struct ProblemCode: RawRepresentable, Sendable, Hashable, Decodable {
        /// The code as the registry sends it, such as `not-yours`.
        public let rawValue: String

        /// Wraps a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// 410: the activity has ended.
        public static let activityEnded = Self(rawValue: "activity-ended")
        /// 410: the activity is older than its lifetime.
        public static let activityExpired = Self(rawValue: "activity-expired")
        /// 403: this key or user must not give that alias.
        public static let aliasNotAllowed = Self(rawValue: "alias-not-allowed")
        /// 422: a time lies too far from the registry's clock.
        public static let clockSkew = Self(rawValue: "clock-skew")
        /// 422: a value is malformed; the detail names it.
        public static let invalidRequest = Self(rawValue: "invalid-request")
        /// 403: the record belongs to another installation or user.
        public static let notYours = Self(rawValue: "not-yours")
        /// 409: the registry has a later token.
        public static let superseded = Self(rawValue: "superseded")
        /// 401: the key or the JWT is not valid.
        public static let unauthenticated = Self(rawValue: "unauthenticated")
    }

    /// The state of the client.
    public struct Status: Sendable, Hashable {
        /// The number of reports that wait for a response.
        public internal(set) var waiting = 0
        /// The observation time of the oldest waiting report.
        public internal(set) var waitingSince: Date?
        /// The time since which the registry has not responded; nil while it does.
        public internal(set) var unreachableSince: Date?
        /// The signed-in user.
        public internal(set) var userID: String?
        /// The environment that reports go to.
        public internal(set) var environment: APNSEnvironment
        /// Whether the file and the installation id were readable. Before the first unlock of the phone nothing is sent.
        public internal(set) var isReady = false
    }

    /// The state of an activity's registration.
    public enum Registration: Sendable, Hashable {
        /// ActivityKit has not delivered a token, or the activity is unknown.
        case waitingForToken
        /// The token waits for the registry's response.
        case pending
        /// The registry has the current token.
        case registered
        /// The registry refused the token.
        case refused(ProblemCode)
        /// The activity has ended.
        case ended
    }
}
