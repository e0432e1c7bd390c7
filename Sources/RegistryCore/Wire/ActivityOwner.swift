/// Whose activity it is that is known only by its `liveactivityId`: so a thousand phones may follow one alias.
public enum ActivityOwner: Sendable, Hashable {
    case installation(InstallationHash)
    /// The `sub` of a signed-in user.
    case subject(String)
    /// Sender and admin keys without an installation: the app itself.
    case app
}
