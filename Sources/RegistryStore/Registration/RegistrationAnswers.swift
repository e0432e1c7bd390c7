import Foundation
import PostgresDriver
import RegistryCore

/// The rows returned by the statements of a batch, and the answer for each request.
struct RegistrationAnswers {
    var merged: [ActivityID: MergedActivity] = [:]
    private var tokens: [[UInt8]: ClaimedToken] = [:]
    /// Read only after a request was refused whole.
    var refusalFacts: PostgresRow?

    init(merged: PostgresResult, owners: PostgresResult) throws {
        for activity in try merged.decode(MergedActivity.columns) { self.merged[activity.activityID] = activity }
        for token in try owners.decode(ClaimedToken.columns) { tokens[token.digest] = token }
    }

    func answer(to request: RegistrationRequest) throws -> Result<RegistrationAnswer, Problem> {
        guard let activity = merged[request.id] else { return .failure(try refusal(of: request)) }
        // An activity that a log-out ended before it became known is ended, though no row says so.
        guard activity.outcome != "refused", activity.answer.state != .ended else {
            return .failure(Problem(.activityEnded, "The activity has ended; an id is used once.", activity))
        }
        switch activity.outcome {
        case "expired": return .failure(.init(.activityExpired, "The activity's lifetime is over.", activity))
        case _ where request.registration.isTooLate(at: activity.serverTime, in: request.scope):
            let detail = "It was observed longer ago than an activity lives. Observe it anew, with the present time."
            return .failure(.init(.activityExpired, detail, activity))
        case "superseded":
            let detail = "A registration with a later observedAt is current."
            return .failure(Problem(.superseded, detail, activity, "rotated"))
        default:
            let token = request.registration.token == nil ? nil : activity.tokenDigest.flatMap { tokens[$0] }
            return accepted(activity, token)
        }
    }

    /// The activity's row has the request; the value's row decides whether its token is handed out.
    private func accepted(_ activity: MergedActivity, _ token: ClaimedToken?) -> Result<RegistrationAnswer, Problem> {
        let outcome = RegistrationOutcome(rawValue: activity.outcome) ?? .refreshed
        guard let token else { return .success(RegistrationAnswer(outcome: outcome, activity: activity.answer)) }
        if let problem = token.problem(for: activity) { return .failure(problem) }
        guard token.isReactivated(by: activity) else {
            return .success(RegistrationAnswer(outcome: outcome, activity: activity.answer))
        }
        var answer = activity.answer
        answer.revision += 1
        return .success(RegistrationAnswer(outcome: .reactivated, activity: answer))
    }

    private func refusal(of request: RegistrationRequest) throws -> Problem {
        guard let refusalFacts else { return .unforeseen }
        do {
            return try Refusal(of: request.registration.observedAt, as: request.id, refusalFacts).problem
        } catch is UnforeseenRefusal {
            // The other requests of the batch are merged, and must not be merged again.
            return .unforeseen
        }
    }
}

extension ActivityRegistration {
    /// Whether it is older than an activity's lifetime, and was not accepted by a registry before: it is merged, and
    /// its client must observe the activity again (R4).
    func isTooLate(at time: Date, in scope: Scope) -> Bool {
        guard let observedAt, !wasAccepted else { return false }
        return observedAt.addingTimeInterval(Double(scope.app.settings.activityLifetime.components.seconds)) <= time
    }
}

extension ClaimedToken {
    /// Why the token is not the activity's, although the activity's row has it (R2, R7, R8). The view of verdicts has
    /// the same rules; here they use the rows that the batch's own statements returned, the request's claim among them,
    /// because asking the view for every activity would slow down each registration.
    fileprivate func problem(for activity: MergedActivity) -> Problem? {
        if owner != activity.activityID {
            return Problem(.superseded, "Another activity registered this token later.", activity, "taken-over")
        }
        if isOfInstallation {
            let detail =
                "The value is known as an installation's device token. Register the token that "
                + "pushTokenUpdates gave for this activity."
            return Problem(.tokenKindConflict, detail, activity, "kind-conflict")
        }
        if let deadAt, let claim = activity.claimedAt, claim <= deadAt {
            if isPurged {
                let detail =
                    "An admin purged the token. Register the one that pushTokenUpdates gives, with its present time."
                return Problem(.tokenUnregistered, detail, activity, "purged")
            }
            let detail =
                "APNs said after observedAt that this token is dead. Register the one that pushTokenUpdates "
                + "gives now."
            return Problem(.tokenUnregistered, detail, activity, "unregistered")
        }
        return nil
    }

    /// The request claimed the token after it was declared dead or quarantined, and no earlier request had.
    fileprivate func isReactivated(by activity: MergedActivity) -> Bool {
        guard let previous = activity.previousClaimedAt, let claim = activity.claimedAt,
            deadAt != nil || quarantinedAt != nil
        else { return false }
        let until = max(deadAt ?? .distantPast, quarantinedAt ?? .distantPast)
        return ["refreshed", "reactivated"].contains(activity.outcome) && previous <= until && claim > until
    }
}

extension Problem {
    init(_ code: Code, _ detail: String, _ activity: MergedActivity, _ reason: String? = nil) {
        self.init(code, detail)
        self.activity = activity.answer
        if let reason { self.activity?.reason = reason }
        serverTime = activity.serverTime
    }

    static func clockSkew(_ serverTime: Date) -> Problem {
        var problem = Problem(
            .clockSkew,
            "observedAt is more than 5 minutes ahead of the server's clock. Correct the offset by serverTime."
        )
        problem.errors = [JSONFault(pointer: "/observedAt", detail: "lies more than 5 minutes in the future")]
        problem.serverTime = serverTime
        return problem
    }
}
