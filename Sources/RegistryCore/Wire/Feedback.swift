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
        case (410, nil), (410, ""), (410, "Unregistered"), (410, "ExpiredToken"): .dead
        case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): .suspect
        default: .none
        }
    }

    /// For `reason` and `apnsId`, in bytes.
    private static let maximumText = 256

    package static func read(_ json: JSONReader) -> Result<FeedbackReport, Problem> {
        var json = json
        let token = json.string("token", PushToken.init(hexadecimal:))
        let status = json.required("status", Int.within(100...599))
        let reason = json.optionalString("reason", text)
        let milliseconds = json.optional("timestamp", Int.read)
        // From 2001-09-09 to the year 9999. APNs's timestamps are later, and a lesser number is in seconds.
        if let milliseconds, !(1_000_000_000_000...253_402_300_799_999).contains(milliseconds) {
            json.fault("timestamp", "timestamp is in milliseconds, as APNs sends it")
        }
        // Accepted so that a sender can forward APNs's response. It is checked and not stored.
        _ = json.optionalString("apnsId", text)
        let leaseID = json.optionalString("leaseId", LeaseID.init)
        guard let token, let status, json.faults.isEmpty else { return .failure(Problem(faults: json.faults)) }
        let timestamp = milliseconds.map { Date(timeIntervalSince1970: Double($0) / 1000) }
        var report = FeedbackReport(token: token, status: status, reason: reason, timestamp: timestamp)
        report.leaseID = leaseID
        return .success(report)
    }

    /// For one JSON body. NDJSON has no such limit.
    package static let mostOfBody = 1000

    /// Reads `{reports: [{token, status, reason, timestamp, apnsId, leaseId}]}`. A malformed report gets a problem in
    /// its position.
    package static func readBody(_ json: inout JSONReader) -> [Result<FeedbackReport, Problem>]? {
        json.elements("reports", maximumCount: mostOfBody)?.map(read)
    }

    private static func text(_ text: String) throws(JSONFaultReason) -> String {
        guard text.utf8.count <= maximumText else { throw JSONFaultReason("must be at most \(maximumText) bytes") }
        guard !text.utf8.contains(0) else { throw JSONFaultReason("must not contain the character U+0000") }
        return text
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

package struct FeedbackResult: Sendable, Hashable, JSONObjectEncodable {
    package let action: FeedbackAction
    package let detail: String

    package init(action: FeedbackAction, detail: String) { (self.action, self.detail) = (action, detail) }

    package func writeMembers(to json: inout JSONWriter) {
        json.member("action", action.rawValue)
        json.member("detail", detail)
    }
}

/// A failed push as gorush reports it to its `feedback_hook_url`.
package enum GorushPost: Sendable, Hashable {
    case report(FeedbackReport)
    case ignored(Ignored)

    package enum Ignored: String, Sendable, Hashable, CaseIterable {
        case platform
        case type
        /// gorush masks tokens by default (`log.hide_token`).
        case maskedToken = "masked-token"
        /// `error` is empty, so the reason is unknown.
        case noError = "no-error"

        package var detail: String {
            switch self {
            case .platform: "The push was not for iOS."
            case .type: "The post does not report a failed push."
            case .maskedToken: "The token is masked. Set log.hide_token to false in gorush's configuration."
            case .noError: "The post has no error, so it does not affect the token."
            }
        }
    }

    /// The reasons of status 410. gorush passes on only the reason.
    private static let goneReasons: Set<UTF8Text> = ["Unregistered", "ExpiredToken"]

    /// Reads `{notif_id, type, platform, token, message, error}`. gorush passes on no time, so the token is dead as of
    /// the receipt.
    package static func read(_ json: inout JSONReader) -> GorushPost? {
        let type = json.required("type", String.read)
        let platform = json.required("platform", String.read)
        let masked = json.optional("token", String.read)
        let error = json.optionalString("error", text)
        guard let type, let platform, json.faults.isEmpty else { return nil }
        guard platform == "ios" else { return .ignored(.platform) }
        guard type == "failed-push" else { return .ignored(.type) }
        guard masked?.contains("*") != true else { return .ignored(.maskedToken) }
        guard let token = json.string("token", PushToken.init(hexadecimal:)) else { return nil }
        guard let error, !error.isEmpty else { return .ignored(.noError) }
        let status = goneReasons.contains(UTF8Text(error)) ? 410 : 400
        return .report(FeedbackReport(token: token, status: status, reason: error))
    }

    /// APNs's reason, or gorush's message about its connection, which has no length limit.
    private static func text(_ text: String) throws(JSONFaultReason) -> String {
        guard !text.utf8.contains(0) else { throw JSONFaultReason("must not contain the character U+0000") }
        return text.utf8.count <= 64 ? text : String(text.prefix(16))
    }
}
