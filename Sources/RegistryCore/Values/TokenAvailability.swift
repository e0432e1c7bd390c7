/// The raw values are part of the API.
package enum TokenAvailability: String, Sendable, Hashable, CaseIterable {
    case handedOut = "handed-out"
    case ended
    /// The activity had started, or the token existed, when the installation logged out.
    case loggedOut = "logged-out"
    case expired
    /// The installation's last full state did not list the activity.
    case dismissed
    /// The activity never received a token.
    case noToken = "no-token"
    /// The activity never received a token. It follows a broadcast channel, or the alias has one.
    case channel
    /// The activity gets no token, because its app alone updates it.
    case noPush = "no-push"
    /// Another activity or installation registered the value later.
    case takenOver = "taken-over"
    case kindConflict = "kind-conflict"
    /// APNs reported it dead, and no client claimed it since.
    case unregistered
    /// A sender reported it, and no client confirmed or admin released it since.
    case quarantined
    /// An admin purged it, and no client claimed it since.
    case purged
    case deleted
}
