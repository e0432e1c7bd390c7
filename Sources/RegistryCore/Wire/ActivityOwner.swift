/// The second half of a name-only activity's identity, because thousands of phones can share one `liveactivityId`.
package enum ActivityOwner: Sendable, Hashable {
    case installation(InstallationHash)
    case subject(UTF8Text)
    /// For sender and admin keys without an installation.
    case app

    /// An installation takes precedence over a subject, and a subject over the app.
    package init(installation: InstallationHash?, subject: UTF8Text?) {
        self = installation.map { .installation($0) } ?? subject.map { .subject($0) } ?? .app
    }
}
