/// Which of Apple's two push services a token belongs to. A token does not say so itself; it is never guessed.
public enum APNSEnvironment: String, Sendable, Hashable, CaseIterable {
    case sandbox
    case production

    /// The one that this is not.
    public var other: APNSEnvironment { self == .sandbox ? .production : .sandbox }
}
