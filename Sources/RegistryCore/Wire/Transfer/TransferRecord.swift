import Foundation

/// One line of an export: a client's request that reproduces stored facts.
///
/// An import applies the requests by the usual rules. Because state does not depend on the order of requests (R0),
/// lines can be reordered and repeated.
package enum TransferRecord: Sendable, Hashable {
    /// An activity with an id.
    case activity(ActivityID, ActivityRegistration)
    /// A name-only activity, by its `liveactivityId`. The registration gives its owner.
    case named(UTF8Text, ActivityRegistration)
    case end(ActivityID, EndReason, at: Date)
    /// The end of a name-only activity.
    case namedEnd(UTF8Text, ActivityOwner, at: Date)
    /// The subject is the signed-in user who sent the profile.
    case installation(InstallationHash, InstallationProfile, subject: UTF8Text?)
    case logOut(InstallationHash, at: Date)
    case token(TokenSlot, InstallationHash, TokenRegistration)
}

extension ActivityRegistration {
    package var owner: ActivityOwner { ActivityOwner(installation: installation, subject: subject) }
}
