/// A token does not contain its environment. The registry never guesses it.
package enum APNSEnvironment: String, Sendable, Hashable, CaseIterable {
    case sandbox
    case production
    package var other: APNSEnvironment { self == .sandbox ? .production : .sandbox }
}
