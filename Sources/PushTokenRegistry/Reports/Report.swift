/// One fact for the registry.
package enum Report: Sendable, Hashable, Codable {
    /// ActivityKit delivered an activity's token.
    case registration(ActivityRegistration)
    /// An activity ended; a dismissal is the user's swipe.
    case end(activityID: String, isDismissal: Bool)
    /// The start token of an attributes type; nil removes it.
    case startToken(attributesType: String, PushToken?)
    /// A token that the installation has one of; nil removes it.
    case installationToken(InstallationTokenKind, PushToken?)
    /// The names under which senders find start and device tokens, and facts of the phone. Nil changes nothing.
    case installation(aliases: [String: [String]]?, metadata: [String: String]?)
    /// All running activities, without their tokens.
    case fullState([ActivityRegistration])
    /// Deletes the installation's tokens and names, and ends its activities.
    case logOut

    /// One report with the effect of this and an earlier one of the same subject (R0).
    func merging(earlier: Report, observedAt times: (earlier: Timestamp, later: Timestamp)) -> Report {
        switch (self, earlier) {
        case (.registration(let later), .registration(let earlier)):
            .registration(later.merging(earlier: earlier, observedAt: times))
        case (.installation(let aliases, let metadata), .installation(let earlier, let earlierMetadata)):
            .installation(aliases: aliases ?? earlier, metadata: metadata ?? earlierMetadata)
        // The first end is final and contains the reason: a dismissal also follows each end of the app's own (C6).
        case (.end, .end): earlier
        default: self
        }
    }

    /// Moves the start of its activity, because the clock was corrected.
    mutating func moveStart(_ moved: (Timestamp) -> Timestamp) {
        guard case .registration(var registration) = self else { return }
        registration.startedAt = registration.startedAt.map(moved)
        self = .registration(registration)
    }

    /// It reports an end, so any credential of this installation may send it, and it is dropped last.
    var isFinal: Bool { if case .end = self { true } else { self == .logOut } }

    /// Whether the publishable key may report it for the installation that it names.
    var isOfInstallation: Bool { subject != .installation && subject != .logOut }

    var token: PushToken? {
        switch self {
        case .registration(let registration): registration.token
        case .startToken(_, let token), .installationToken(_, let token): token
        case .end, .installation, .fullState, .logOut: nil
        }
    }

    package var subject: LiveActivityRegistry.Subject {
        switch self {
        case .registration(let registration): .activity(registration.activityID)
        case .end(let activityID, _): .end(ofActivity: activityID)
        case .startToken(let attributesType, _): .startToken(attributesType: attributesType)
        case .installationToken(.device, _): .deviceToken
        case .installationToken(.widget, _): .widgetToken
        case .installation: .installation
        case .fullState: .fullState
        case .logOut: .logOut
        }
    }
}

/// An activity, with its token if it is registered.
package struct ActivityRegistration: Sendable, Hashable, Codable {
    package let activityID: String
    package var token: PushToken?
    package var startedAt: Timestamp?
    /// The start of a scheduled activity.
    package var startsAt: Timestamp?
    package var attributesType: String?
    /// Replaces all aliases; nil changes none.
    package var aliases: [String: [String]]?
    package var frequentPushesEnabled: Bool?
    /// Set for an activity that gets no token.
    package var pushType: FollowedPushType?

    /// This registration after an earlier one that was not sent (R6).
    ///
    /// Aliases: the last given. Facts: the first given. The start: the least, where an activity without one counts as started when it
    /// was observed.
    func merging(earlier: ActivityRegistration, observedAt times: (earlier: Timestamp, later: Timestamp)) -> Self {
        var merged = self
        merged.aliases = aliases ?? earlier.aliases
        merged.attributesType = earlier.attributesType ?? attributesType
        merged.frequentPushesEnabled = earlier.frequentPushesEnabled ?? frequentPushesEnabled
        // The registry ignores a start time before its observation (R5).
        merged.startsAt = earlier.startsAt.flatMap { $0 > times.earlier ? $0 : nil } ?? startsAt
        var starts = [earlier.startedAt ?? times.earlier, startedAt ?? times.later]
        // A scheduled time that has passed becomes the start, because the registry ignores it as a schedule.
        if let begun = merged.startsAt, begun <= times.later {
            starts = [max(begun, starts.min() ?? begun)]
            merged.startsAt = nil
        }
        merged.startedAt = starts.min()
        return merged
    }

    var json: [String: Any] {
        let members: [String: Any?] = [
            "token": token?.hexadecimal, "attributesType": attributesType, "aliases": aliases,
            "startedAt": startedAt?.text, "startsAt": startsAt?.text, "pushType": pushType?.rawValue,
            "frequentPushesEnabled": frequentPushesEnabled,
        ]
        return members.compactMapValues { $0 }
    }
}

/// A kind of token that an installation has one of.
package enum InstallationTokenKind: String, Sendable, Hashable, Codable, CaseIterable {
    case device, widget
}
