/// Which of Apple's two push services a token belongs to. A token does not say so itself; it is never guessed.
package enum APNSEnvironment: String, Sendable, Hashable, CaseIterable {
    case sandbox
    case production
    package var other: APNSEnvironment { self == .sandbox ? .production : .sandbox }
}
