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

    /// If true, the response mentions the other environment if the value is known there.
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
        case .dropped: "\(token) is dead and is no longer handed out."
        case .keptNewer: "\(token) is kept: a client claimed it later than APNs said this."
        case .quarantined: "\(token) is not handed out until a client confirms it or an admin releases it."
        case .guarded: "\(token) is kept: so many were reported at once that the sender's topic or key is likely wrong."
        case .kept: "\(token) is kept: the status and reason say nothing against it."
        case .delivered: "\(token) works."
        case .retired: "The value was a current token and is none now; resolve the alias anew."
        case .unknown: "The value is not known here."
        }
    }
}
