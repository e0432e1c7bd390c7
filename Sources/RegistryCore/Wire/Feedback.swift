import Foundation

package struct FeedbackReport: Sendable, Hashable {
    package let token: PushToken
    package let status: Int
    package var reason: UTF8Text?
    /// The time that APNs gives with a 410.
    package var timestamp: Date?
    /// The plan's lease of a start push. Nil for other pushes.
    package var leaseID: LeaseID?

    package init(token: PushToken, status: Int, reason: String? = nil, timestamp: Date? = nil) {
        self.token = token
        self.status = status
        self.reason = reason.map { UTF8Text($0) }
        self.timestamp = timestamp
    }

    /// Follows APNs's table of statuses and reasons. Faults of the sender or of APNs, and unknown reasons, give `none`.
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
    /// The token can belong to another environment, app or kind, or the sender can be wrong.
    case suspect
    case none
}

package enum FeedbackAction: String, Sendable, Hashable, CaseIterable {
    case dropped
    /// A client claimed the token after APNs's time.
    case keptNewer = "kept-newer"
    case quarantined
    /// Not quarantined, because this many reports at once indicate a fault of the sender.
    case guarded
    /// No effect. The sender or APNs is at fault.
    case kept
    /// The time of the last success was stored.
    case delivered
    /// The value was a current token in the past.
    case retired
    case unknown
}

package struct FeedbackResult: Sendable, Hashable {
    package let action: FeedbackAction
    package let detail: String

    package init(action: FeedbackAction, detail: String) {
        self.action = action
        self.detail = detail
    }
}
