import RegistryCore

package struct TokenReport: Sendable, Hashable {
    package let digest: TokenDigest
    package let meaning: FeedbackMeaning
    package let reason: UTF8Text?
    /// APNs's time.
    package let timestamp: Timestamp?

    package init(_ report: FeedbackReport, digest: TokenDigest) {
        self.digest = digest
        meaning = report.meaning
        reason = report.reason
        timestamp = report.timestamp.map(Timestamp.init)
    }
}

package struct FeedbackDecision: Sendable, Hashable {
    package let action: FeedbackAction
    package let meaning: FeedbackMeaning
    package let kind: String?

    /// Whether the response mentions the other environment if the value is known there.
    package var mentionsElsewhere: Bool { kind == nil || meaning == .suspect }

    package func result(isKnownIn elsewhere: APNSEnvironment?) -> FeedbackResult {
        guard mentionsElsewhere, let place = elsewhere?.rawValue else {
            return FeedbackResult(action: action, detail: detail)
        }
        let hint = kind == nil ? " It is known in \(place)." : " The value is registered in \(place), too."
        return FeedbackResult(action: action, detail: detail + hint)
    }

    private var detail: String {
        let token = kind.map { "The \($0) token" } ?? "The value"
        return switch action {
        case .dropped: "\(token) is dead and is no longer returned to senders."
        case .keptNewer: "\(token) is kept because a client claimed it later."
        case .quarantined: "\(token) is quarantined until a client confirms it or an admin releases it."
        case .guarded: "\(token) is kept. Too many were reported at once: check the sender's topic and key."
        case .kept: "\(token) is kept. The status and reason are not about the token."
        case .delivered: "\(token) works."
        case .retired: "The token is no longer current. Resolve the alias again."
        case .unknown: "The value was never registered here."
        }
    }
}
