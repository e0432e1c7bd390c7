import Foundation

/// A sender's report of what APNs answered to a push.
package struct FeedbackReport: Sendable, Hashable {
    /// The token that the push was sent to.
    package let token: PushToken
    /// APNs's HTTP status.
    package let status: Int
    /// APNs's reason, as it spelled it.
    package var reason: UTF8Text?
    /// When APNs knew it; it comes with a 410.
    package var timestamp: Date?
    /// The lease of the plan under which a start push was sent; nil for other pushes.
    package var leaseID: LeaseID?

    /// Makes a report; `reason` and `timestamp` are nil where APNs gave none.
    package init(token: PushToken, status: Int, reason: String? = nil, timestamp: Date? = nil) {
        self.token = token
        self.status = status
        self.reason = reason.map { UTF8Text($0) }
        self.timestamp = timestamp
    }

    /// The report's verdict on the token, by APNs's table of statuses and reasons. Anything that is the sender's or
    /// APNs's fault, and every reason not known yet, says nothing.
    package var verdict: FeedbackVerdict {
        switch (status, reason) {
        case (200, _): .delivered
        case (410, nil), (410, "Unregistered"), (410, "ExpiredToken"): .dead
        case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): .suspect
        default: .none
        }
    }
}

/// A report's verdict on its token.
package enum FeedbackVerdict: String, Sendable, Hashable {
    /// APNs took the push.
    case delivered
    /// The token works no more.
    case dead
    /// It looks as if the token were of another environment, app or kind; the sender may be wrong, too.
    case suspect
    case none
}

/// The registry's action upon a report.
package enum FeedbackAction: String, Sendable, Hashable, CaseIterable {
    /// The token is dead and no longer handed out.
    case dropped
    /// A client claimed the token after APNs said so.
    case keptNewer = "kept-newer"
    /// Not handed out until a client confirms it or an admin releases it.
    case quarantined
    /// It would have been quarantined, but so many were at once that the sender is more likely at fault.
    case guarded
    /// Nothing: the sender or APNs is at fault.
    case kept
    /// The time of the last success was noted.
    case delivered
    /// The value was a current token once and is none now.
    case retired
    /// The value was never registered here.
    case unknown
}

/// The answer to one report.
package struct FeedbackResult: Sendable, Hashable {
    /// The effect that the report had on its token.
    package let action: FeedbackAction
    /// A sentence for the developer of the sender.
    package let detail: String

    /// Makes a result of its two parts.
    package init(action: FeedbackAction, detail: String) {
        self.action = action
        self.detail = detail
    }
}
