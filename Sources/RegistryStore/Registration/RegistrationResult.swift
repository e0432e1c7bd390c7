import RegistryCore
import RegistryRules

package struct RegistrationResult: Sendable, Hashable, JSONObjectEncodable {
    package let outcome: RegistrationOutcome
    package let activity: ActivityStatus

    package func writeMembers(to json: inout JSONWriter) {
        json.member("activityId", activity.activityID.rawValue)
        json.member("outcome", outcome.rawValue)
        json.member("state", activity.state.rawValue)
        json.member("observedAt", ifPresent: activity.observedAt)
        json.member("confirmedAt", ifPresent: activity.confirmedAt)
        json.member("expiresAt", ifPresent: activity.expiresAt)
        json.member("revision", activity.revision)
    }
}

extension LockedRows {
    mutating func merge(
        _ registration: Registration,
        isErased: (Timestamp) -> Bool
    ) -> Result<RegistrationResult, Problem> {
        do throws(Rejection) {
            let outcome = try register(registration, isErased: isErased)
            guard let activity = status(of: registration.id) else { return .failure(.unforeseen) }
            return .success(RegistrationResult(outcome: outcome, activity: activity))
        } catch {
            var problem = Problem(error, at: now)
            if let reason = error.reason {
                problem.activity = status(of: registration.id) ?? .neverAccepted(registration)
                if !reason.isEmpty { problem.activity?.reason = reason }
            }
            return .failure(problem)
        }
    }

    func status(of id: ActivityID) -> ActivityStatus? {
        activity(id).map { ActivityStatus($0, of: installation(of: $0), at: now) }
    }
}

extension ActivityStatus {
    init(_ activity: Activity, of installation: InstallationTimes?, at now: Timestamp) {
        let state = activity.state(of: installation, at: now)
        self.init(activityID: activity.id, state: state, revision: activity.revision)
        reason = activity.end?.reason.rawValue ?? ([.expired, .ended].contains(state) ? state.rawValue : nil)
        endedAt = (activity.end?.at ?? (state == .ended ? installation?.loggedOutAt : nil))?.date
        observedAt = (activity.token?.observedAt ?? activity.lastObservedAt)?.date
        confirmedAt = activity.confirmedAt?.date
        expiresAt = activity.expiresAt.date
    }

    /// For an unknown activity with a registration that had expired by its own times.
    fileprivate static func neverAccepted(_ registration: Registration) -> ActivityStatus {
        var status = ActivityStatus(activityID: registration.id, state: .expired, revision: 0)
        status.reason = ActivityState.expired.rawValue
        status.observedAt = registration.observedAt?.date
        return status
    }
}

extension Rejection {
    /// Empty for the activity's own reason; nil if the answer contains no facts about the activity.
    fileprivate var reason: String? {
        switch self {
        case .clockSkew, .notYours, .erased, .noRoom: nil
        case .stale, .ended, .expired: ""
        case .superseded: "rotated"
        case .withheld(let reason): reason.rawValue
        }
    }
}

extension Problem {
    static let unforeseen = Problem(.internalError, "The registry could not carry out the request.")

    /// For a statement that wrote nothing, which requires the app.
    static let appDeleted = Problem(.unknownApp, "The app was deleted.")

    init(_ rejection: Rejection, at now: Timestamp) {
        self.init(rejection)
        if rejection != .notYours { serverTime = now.date }
    }

    private init(_ rejection: Rejection) {
        switch rejection {
        case .clockSkew(let faults):
            self.init(
                .clockSkew,
                "The errors list the times. Correct the clock by serverTime, and send the request again.",
                errors: faults
            )
        case .notYours:
            // Contains no facts about the record, because it belongs to another claimant.
            self.init(
                .notYours,
                "The activity belongs to another user or installation; only they, or a sender or admin key, may change it."
            )
        case .stale:
            self.init(
                .activityExpired,
                "The times are older than an activity's lifetime. Correct the clock by serverTime, and send the request again."
            )
        case .erased:
            self.init(.activityEnded, "The record was erased. Data observed before the erasure is not accepted.")
        case .noRoom: self = .noRoom
        case .ended: self.init(.activityEnded, "The activity has ended. An activityId is used once.")
        case .expired: self.init(.activityExpired, "The activity's lifetime is over.")
        case .superseded: self.init(.superseded, "A registration with a later observedAt is current.")
        case .withheld(let reason): self.init(reason)
        }
    }

    private init(_ reason: WithholdingReason) {
        switch reason {
        case .takenOver: self.init(.superseded, "Another activity registered this token later.")
        case .kindConflict:
            self.init(
                .tokenKindConflict,
                "The value is an installation's token. Register the token that pushTokenUpdates delivers for this activity."
            )
        case .purged:
            self.init(
                .tokenUnregistered,
                "An admin purged the token. Register the token that pushTokenUpdates delivers now."
            )
        case .unregistered, .quarantined:
            self.init(
                .tokenUnregistered,
                "APNs reported the token as dead after observedAt. Register the token that pushTokenUpdates delivers now."
            )
        }
    }
}
