import Foundation
import RegistryCore
import RegistryStore

/// Prints pushes and what became of them: words for people, or a line of JSON for each.
struct PushPrinter: Sendable {
    /// Where pushes are sent.
    let address: String
    let usesJSON: Bool

    /// Prints what goes out; as JSON it stands in the line that says what became of it.
    func announce(_ push: Push) throws(CommandFailure) {
        guard !usesJSON else { return }
        try Output.results.line("\(push.action) \(push.subject)")
        try Output.results.line("  POST \(address)/3/device/… (token \(TokenFingerprint.text(of: push.token.bytes)))")
        for (name, value) in push.headers { try Output.results.line("  \(name): \(value)") }
        try Output.results.line("  \(push.payload.jsonLine)")
    }

    /// Prints what came back.
    ///
    /// - Parameters:
    ///   - outcome: nil for a push that was not sent.
    ///   - feedback: the registry's word on it, if it was told.
    func conclude(_ push: Push, _ outcome: PushOutcome?, _ feedback: FeedbackResult?) throws(CommandFailure) {
        guard !usesJSON else { return try Output.results.line(json(push, outcome, feedback).jsonLine) }
        if case .answered(let answer)? = outcome {
            let id = answer.apnsID.map { ", apns-id \($0)" } ?? ""
            try Output.results.line("  → \(answer.words)\(id)")
        }
        if let feedback { try Output.results.line("  → \(feedback.action.rawValue): \(feedback.detail)") }
    }

    /// Prints a step that is not to push.
    func skip(_ entry: PlanEntry) throws(CommandFailure) {
        guard let (reason, retryAt) = entry.step.pause else { return }
        guard !usesJSON else {
            let members: [(String, JSONValue?)] = [
                ("action", .string(entry.step.action)),
                ("installation", (entry.installation?.description).map { .string($0) }),
                ("reason", .string(reason.rawValue)), ("retryAt", retryAt.map { .string(RFC3339.format($0)) }),
            ]
            return try Output.results.line(JSONObject(present: members).jsonLine)
        }
        let place = entry.installation.map { " on installation \($0.description.prefix(16))" } ?? ""
        let time = retryAt.map { " Again at \(RFC3339.format($0))." } ?? ""
        try Output.results.line("\(entry.step.action)\(place) (\(reason.rawValue)): \(reason.sentence)\(time)")
    }

    private func json(_ push: Push, _ outcome: PushOutcome?, _ feedback: FeedbackResult?) -> JSONObject {
        JSONObject(present: [
            ("action", .string(push.action)),
            ("activityId", (push.activityID?.description).map { .string($0) }),
            ("installation", (push.installation?.description).map { .string($0) }),
            ("leaseId", (push.lease?.id.description).map { .string($0) }),
            ("fingerprint", .string(TokenFingerprint.text(of: push.token.bytes))),
            ("to", .string(address)),
            ("headers", .object(JSONObject(push.headers.map { ($0.name, .string($0.value)) }))),
            ("payload", push.payload),
            ("answer", outcome?.json),
            ("feedback", feedback.map { ["action": .string($0.action.rawValue), "detail": .string($0.detail)] }),
        ])
    }
}

extension Push {
    fileprivate var subject: String {
        if let activityID { return "activity \(activityID)" }
        let phone = installation.map { "installation \($0.description.prefix(16))" } ?? ""
        return "on \(phone)" + (lease.map { ", lease \($0.id) until \(RFC3339.format($0.leasedUntil))" } ?? "")
    }
}

extension PushOutcome {
    /// Nil where there was no answer.
    fileprivate var json: JSONValue? {
        guard case .answered(let answer) = self else { return nil }
        return .object(
            JSONObject(present: [
                ("status", .integer(Int64(answer.status))), ("reason", answer.reason.map { .string($0) }),
                ("timestamp", answer.timestamp.map { .string(RFC3339.format($0)) }),
                ("apnsId", answer.apnsID.map { .string($0) }),
            ])
        )
    }
}

extension JSONObject {
    /// An object of those members that have a value.
    fileprivate init(present members: [(String, JSONValue?)]) {
        self.init(members.compactMap { name, value in value.map { (name, $0) } })
    }
}

extension PlanStep {
    /// Why it is not to push to an activity, and when to ask again; nil where it is.
    fileprivate var pause: (reason: PlanReason, retryAt: Date?)? {
        switch self {
        case .update, .start: nil
        case .wait(let reason, let time): (reason, time)
        case .alert(let reason, _), .none(let reason): (reason, nil)
        }
    }
}

extension PlanReason {
    /// The reason in words.
    fileprivate var sentence: String {
        switch self {
        case .tokenPending: "The activity runs, and its token has not come yet."
        case .noUpdateToken: "The activity runs, and there is no token of it that works."
        case .dismissed: "The user swiped it away. --restart-dismissed starts it all the same."
        case .leased: "Somebody has the lease, and starts it now."
        case .backOff: "The last start failed, and it is too early for the next."
        case .startFailed: "Three starts within a day brought no activity."
        case .noStartToken: "There is no start token of this type that works."
        case .startUnconfirmed: "No app has confirmed the start token for two weeks; it is probably dead."
        }
    }
}
