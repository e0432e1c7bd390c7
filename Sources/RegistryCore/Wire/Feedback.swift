import Foundation

package struct FeedbackReport: Sendable, Hashable {
    package let token: PushToken
    package let status: Int
    /// APNs's reason, as it spelled it.
    package var reason: UTF8Text?
    /// When APNs knew it; it comes with a 410.
    package var timestamp: Date?
    /// The lease of the plan under which a start push was sent; nil for other pushes.
    package var leaseID: LeaseID?

    package init(token: PushToken, status: Int, reason: String? = nil, timestamp: Date? = nil) {
        self.token = token
        self.status = status
        self.reason = reason.map { UTF8Text($0) }
        self.timestamp = timestamp
    }

    /// By APNs's table of statuses and reasons. Faults of the sender or of APNs, and unknown reasons, give `none`.
    package var meaning: FeedbackMeaning {
        switch (status, reason) {
        case (200, _): .delivered
        case (410, nil), (410, "Unregistered"), (410, "ExpiredToken"): .dead
        case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): .suspect
        default: .none
        }
    }
}

package enum FeedbackMeaning: String, Sendable, Hashable {
    case delivered
    case dead
    /// It looks as if the token were of another environment, app or kind; the sender may be wrong, too.
    case suspect
    case none
}

package enum FeedbackAction: String, Sendable, Hashable, CaseIterable {
    /// The token is dead and no longer handed out.
    case dropped
    /// A client claimed the token after APNs said so.
    case keptNewer = "kept-newer"
    /// Not handed out until a client confirms it or an admin releases it.
    case quarantined
    /// It would have been quarantined, but there are so many at once that the sender is more likely at fault.
    case guarded
    /// Nothing: the sender or APNs is at fault.
    case kept
    /// The time of the last success was noted.
    case delivered
    /// The value was a current token once and is none now.
    case retired
    case unknown
}

package struct FeedbackResult: Sendable, Hashable {
    package let action: FeedbackAction
    /// A sentence for the developer of the sender.
    package let detail: String

    package init(action: FeedbackAction, detail: String) {
        self.action = action
        self.detail = detail
    }
}
