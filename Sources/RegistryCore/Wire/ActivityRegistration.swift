import Foundation

/// A client's statement about an activity: a registration, a rotation or a refresh; without a token, a sign of life.
package struct ActivityRegistration: Sendable, Hashable {
    /// The activity's current token; nil for a sign of life, which leaves the token as it is.
    package var token: PushToken?
    /// The device's clock when `pushTokenUpdates` delivered the token; nil counts as the time of receipt.
    package var observedAt: Date?
    /// When it started; nil counts as ``observedAt``, or as the time of receipt without one. A time later than the
    /// receipt counts as the receipt. The earliest one given stays.
    package var startedAt: Date?
    /// When an activity that is scheduled for later starts; counts where it lies after ``observedAt``.
    package var startsAt: Date?
    /// A registry accepted this before, so its age is no reason to refuse it.
    package var wasAccepted = false
    /// The hash of the installation on which it runs; nil when the request names none. The first one given stays.
    package var installation: InstallationHash?
    package var subject: UTF8Text?
    package var facts = ActivityFacts()
    /// Replaces all aliases when given.
    package var aliases: AliasSet?
    /// The aliases of an activity for which none were ever given.
    package var defaultAliases: AliasSet?
    /// Replaces all metadata when given.
    package var metadata: Metadata?

    package init(token: PushToken?) { self.token = token }
}
