import Foundation

/// The state of the client at one moment.
public struct RegistryStatus: Sendable, Hashable {
    /// How many reports wait for an answer.
    public internal(set) var waiting = 0
    /// When the oldest of them was observed.
    public internal(set) var waitingSince: Date?
    /// Since when the registry has not answered; nil while it does.
    public internal(set) var unreachableSince: Date?
    /// The user who is signed in.
    public internal(set) var userID: String?
    /// The environment that reports go to.
    public internal(set) var environment: APNSEnvironment
    /// Whether the phone was unlocked so that waiting reports and the installation id could be read. Before, nothing is sent.
    public internal(set) var isReady = false
}
