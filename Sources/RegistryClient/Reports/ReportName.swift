/// The record that a report was about, for events and logs. It names no token.
public enum ReportName: Sendable, Hashable {
    /// The token of an activity.
    case activity(String)
    /// The end of an activity.
    case end(ofActivity: String)
    /// The start token of an attributes type.
    case startToken(attributesType: String)
    /// The token of a kind that the installation has one of.
    case installationToken(InstallationTokenKind)
    /// The installation with its aliases.
    case installation
    /// The list of all activities that run.
    case fullState
    /// The log-out.
    case logOut

    init(_ key: ReportKey) {
        self =
            switch key {
            case .registration(let activityID): .activity(activityID.string)
            case .end(let activityID): .end(ofActivity: activityID.string)
            case .startToken(let attributesType): .startToken(attributesType: attributesType.string)
            case .installationToken(let kind): .installationToken(kind)
            case .installation: .installation
            case .fullState: .fullState
            case .logOut: .logOut
            }
    }
}
