import Foundation

/// An activity on a phone: ActivityKit's, or a test's.
package protocol PhoneActivity: Sendable {
    var id: String { get }
    /// The names under which senders look it up.
    var aliases: [String: String] { get }
    /// When it is to start, for one that is scheduled.
    var startsAt: Date? { get }
    var phase: ActivityPhase { get }
    /// The push token, once there is one.
    var token: Data? { get }
    /// Subscribes before it returns.
    func tokens() -> AsyncStream<Data>
    /// Subscribes before it returns.
    func phases() -> AsyncStream<ActivityPhase>
    /// Takes it off the screen.
    func end() async
}
