import Foundation

/// One line of an export: what a client would have said for the registry to know what it knows.
///
/// An import says it again, by the rules that all requests go by; as state is a join of what was said (R0), neither the
/// order of lines nor their repetition matters.
public enum TransferRecord: Sendable, Hashable {
    /// What was observed of an activity that is known by its id.
    case activity(ActivityID, ActivityRegistration)
    /// What was observed of an activity that is known only by its `liveactivityId` and owner.
    case named(String, ActivityRegistration)
    /// An activity ended.
    case end(ActivityID, EndReason, at: Date)
    /// What ran under a `liveactivityId` and owner ended.
    case namedEnd(String, ActivityOwner, at: Date)
    /// What an installation's tokens are found by, with the signed-in user who said it.
    case installation(InstallationHash, InstallationProfile, subject: String?)
    /// An installation logged out.
    case logOut(InstallationHash, at: Date)
    /// A start or device token of an installation.
    case token(TokenSlot, InstallationHash, TokenRegistration)
}

extension ActivityRegistration {
    /// Whose an activity is that has only a name: its installation's, else its signed-in user's, else the app's.
    public var owner: ActivityOwner { ActivityOwner(installation: installation, subject: subject) }
}
