import RegistryCore

/// The effect of a refusal on a report of the iOS client, in the words of the guide to the error codes.
enum ClientConsequence: String, CaseIterable {
    case dropped = "The report is dropped, and the app gets an event"
    case keptForADay =
        "The report is tried every hour, and dropped after a day (a log-out never); the app gets an event for both"
    case waitsForCredential =
        "The client requests the user's next JWT; the report is kept, and tried with pauses; the app gets one event"
    case repeated = "The same bytes are sent again after `Retry-After`, or a pause that doubles up to five minutes"
    case clockCorrected =
        "The clock is corrected by `serverTime`, and the report is sent again with the right time, at most three times"
    case observedAgain =
        "If the clock was wrong, as for `clock-skew`, once. Otherwise an activity that runs or is scheduled here is observed again, once, and any other report is dropped"
}

extension RegistryCore.Problem.Code {
    /// The client's rule for a code. A new code needs a decision here and in the guide.
    var consequence: ClientConsequence {
        switch self {
        case .unauthenticated: .waitsForCredential
        case .forbidden, .installationRequired, .aliasNotAllowed, .notYours, .noSuchRoute, .unknownApp,
            .activityNotFound,
            .tokenNotFound, .channelNotFound, .keyNotFound, .installationNotFound:
            .keptForADay
        case .requestTimeout, .tooManyRequests, .unavailable, .internalError: .repeated
        case .clockSkew: .clockCorrected
        case .activityExpired: .observedAgain
        case .malformedRequest, .malformedPath, .malformedJSON, .methodNotAllowed, .superseded, .tokenKindConflict,
            .tokenUnregistered, .channelQuota, .activityEnded, .feedExpired, .feedReset, .bodyTooLarge,
            .unsupportedMediaType,
            .misdirectedRequest,
            .invalidRequest, .invalidCursor, .headersTooLarge:
            .dropped
        }
    }
}
