/// One thing that the registry is to know.
package enum Report: Sendable, Hashable, Codable {
    /// An activity's token came, or came again.
    case registration(ActivityRegistration)
    /// An activity ended. `isDismissal`: by the user, who swiped it away.
    case end(activityID: UTF8Text, isDismissal: Bool)
    /// The start token of an attributes type; nil takes it back.
    case startToken(attributesType: UTF8Text, Token?)
    /// The token of a kind that the installation has one of; nil takes it back.
    case installationToken(InstallationTokenKind, Token?)
    /// The names by which start and device tokens are found.
    case installation(aliases: [String: [String]])
    /// All that runs.
    case fullState([ActivityRegistration])
    /// The installation's tokens and names go, and its activities end.
    case logOut
}

extension Report {
    /// The same with the starts of its activities moved, by a clock that is corrected.
    func movingStarts(by shift: Duration) -> Report {
        switch self {
        case .registration(let registration): .registration(registration.movingStart(by: shift))
        case .fullState(let activities): .fullState(activities.map { $0.movingStart(by: shift) })
        case .end, .startToken, .installationToken, .installation, .logOut: self
        }
    }

    /// It says that something is over, so it is allowed to whoever is on this installation, and is lost last.
    var isFinal: Bool {
        switch self {
        case .end, .logOut: true
        case .registration, .startToken, .installationToken, .installation, .fullState: false
        }
    }
}
