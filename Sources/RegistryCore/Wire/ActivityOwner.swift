/// The owner of an activity that is known only by its `liveactivityId`: a thousand phones may follow one alias.
package enum ActivityOwner: Sendable, Hashable {
    case installation(InstallationHash)
    case subject(UTF8Text)
    /// Sender and admin keys without an installation: the app itself.
    case app

    /// An installation goes before a signed-in user, and a signed-in user before the app.
    package init(installation: InstallationHash?, subject: UTF8Text?) {
        self = installation.map { .installation($0) } ?? subject.map { .subject($0) } ?? .app
    }
}
