import Foundation

/// An activity with its token, as the phone shows it; in a full state the token may not have come yet.
package struct ActivityRegistration: Sendable, Hashable, Codable {
    package let activityID: UTF8Text
    package var token: Token?
    package var startedAt: Timestamp?
    /// When an activity that is scheduled for later starts.
    package var startsAt: Timestamp?
    package var attributesType: String?
    /// Replace all aliases; nil says nothing of them.
    package var aliases: [String: [String]]?
    package var frequentPushesEnabled: Bool?

    package init(activityID: UTF8Text, token: Token?) {
        self.activityID = activityID
        self.token = token
    }
}

extension ActivityRegistration {
    /// This one after an earlier one that was not sent, so that both together say what each would have said (R6).
    ///
    /// Aliases: the last given. Facts: the first given. The start: the least, where an activity that says none counts as started
    /// when it was observed.
    func merging(earlier: ActivityRegistration, observedAt times: (earlier: Timestamp, later: Timestamp)) -> Self {
        var merged = self
        merged.aliases = aliases ?? earlier.aliases
        merged.attributesType = earlier.attributesType ?? attributesType
        merged.frequentPushesEnabled = earlier.frequentPushesEnabled ?? frequentPushesEnabled
        merged.startsAt = earlier.schedule(at: times.earlier) ?? startsAt
        var starts = [earlier.startedAt ?? times.earlier, startedAt ?? times.later]
        // The registry takes a schedule that has passed for none: then it is when the activity started.
        if let begun = merged.startsAt, begun <= times.later {
            starts = [max(begun, starts.min() ?? begun)]
            merged.startsAt = nil
        }
        merged.startedAt = starts.min()
        return merged
    }

    /// The same, started at another time by the phone's clock. A schedule is the app's word, and stays.
    func movingStart(by shift: Duration) -> Self {
        var moved = self
        moved.startedAt = startedAt.map { $0 + shift }
        return moved
    }

    /// A schedule in the past is none (R5).
    private func schedule(at time: Timestamp) -> Timestamp? { startsAt.flatMap { $0 > time ? $0 : nil } }

    /// As the registry reads it.
    var json: [String: Any] {
        var json: [String: Any] = [:]
        json["token"] = token?.hexadecimal
        json["startedAt"] = startedAt?.text
        json["startsAt"] = startsAt?.text
        json["attributesType"] = attributesType
        json["aliases"] = aliases
        json["frequentPushesEnabled"] = frequentPushesEnabled
        return json
    }
}
