/// The record that a report is about: of two reports about one record, one is enough (C9). It names no token.
///
/// A registration and the end of its activity have names of their own: either may be refused without the other.
public enum ReportName: Sendable, Hashable {
    /// The token of an activity.
    case activity(UTF8Text)
    /// The end of an activity.
    case end(ofActivity: UTF8Text)
    /// The start token of an attributes type.
    case startToken(attributesType: UTF8Text)
    /// The token of a kind that the installation has one of.
    case installationToken(InstallationTokenKind)
    /// The installation with its aliases.
    case installation
    /// The list of all activities that run.
    case fullState
    /// The log-out.
    case logOut
}

extension Report {
    package var name: ReportName {
        switch self {
        case .registration(let registration): .activity(registration.activityID)
        case .end(let activityID, _): .end(ofActivity: activityID)
        case .startToken(let attributesType, _): .startToken(attributesType: attributesType)
        case .installationToken(let kind, _): .installationToken(kind)
        case .installation: .installation
        case .fullState: .fullState
        case .logOut: .logOut
        }
    }
}
