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

/// The record that a report is about: of two reports about one record, one is enough (C9).
///
/// A registration and the end of its activity have keys of their own: either may be refused without the other.
package enum ReportKey: Sendable, Hashable {
    case registration(UTF8Text)
    case end(UTF8Text)
    case startToken(UTF8Text)
    case installationToken(InstallationTokenKind)
    case installation
    case fullState
    case logOut
}

extension Report {
    package var key: ReportKey {
        switch self {
        case .registration(let registration): .registration(registration.activityID)
        case .end(let activityID, _): .end(activityID)
        case .startToken(let attributesType, _): .startToken(attributesType)
        case .installationToken(let kind, _): .installationToken(kind)
        case .installation: .installation
        case .fullState: .fullState
        case .logOut: .logOut
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
