import Foundation

/// One line of an export: a client's request, from which a registry learns the stored facts.
///
/// An import repeats the requests, by the rules of all requests; as state is a join of requests (R0), neither the order
/// of lines nor their repetition matters.
package enum TransferRecord: Sendable, Hashable {
    /// An observation of an activity that is known by its id.
    case activity(ActivityID, ActivityRegistration)
    /// An observation of an activity that is known only by its `liveactivityId` and owner.
    case named(UTF8Text, ActivityRegistration)
    case end(ActivityID, EndReason, at: Date)
    /// The activity that ran under a `liveactivityId` and owner ended.
    case namedEnd(UTF8Text, ActivityOwner, at: Date)
    /// The profile by which an installation's tokens are found, with the signed-in user who stated it.
    case installation(InstallationHash, InstallationProfile, subject: UTF8Text?)
    case logOut(InstallationHash, at: Date)
    case token(TokenSlot, InstallationHash, TokenRegistration)
}

extension ActivityRegistration {
    /// The owner of an activity that has only a name: its installation, else its signed-in user, else the app.
    package var owner: ActivityOwner { ActivityOwner(installation: installation, subject: subject) }
}
