import Foundation

/// One line of an export: what a client would have said for the registry to know what it knows.
///
/// An import says it again, by the rules that all requests go by; as state is a join of what was said (R0), neither the
/// order of lines nor their repetition matters.
package enum TransferRecord: Sendable, Hashable {
    /// An observation of an activity that is known by its id.
    case activity(ActivityID, ActivityRegistration)
    /// An observation of an activity that is known only by its `liveactivityId` and owner.
    case named(UTF8Text, ActivityRegistration)
    /// An activity ended.
    case end(ActivityID, EndReason, at: Date)
    /// The activity that ran under a `liveactivityId` and owner ended.
    case namedEnd(UTF8Text, ActivityOwner, at: Date)
    /// The profile by which an installation's tokens are found, with the signed-in user who stated it.
    case installation(InstallationHash, InstallationProfile, subject: UTF8Text?)
    /// An installation logged out.
    case logOut(InstallationHash, at: Date)
    /// A start or device token of an installation.
    case token(TokenSlot, InstallationHash, TokenRegistration)
}

extension ActivityRegistration {
    /// The owner of an activity that has only a name: its installation, else its signed-in user, else the app.
    package var owner: ActivityOwner { ActivityOwner(installation: installation, subject: subject) }
}
