/// Whose activity it is that is known only by its `liveactivityId`: so a thousand phones may follow one alias.
public enum ActivityOwner: Sendable, Hashable {
    case installation(InstallationHash)
    /// The `sub` of a signed-in user.
    case subject(String)
    /// Sender and admin keys without an installation: the app itself.
    case app

    /// An installation goes before a signed-in user, and he before the app.
    public init(installation: InstallationHash?, subject: String?) {
        self = installation.map { .installation($0) } ?? subject.map { .subject($0) } ?? .app
    }
}
