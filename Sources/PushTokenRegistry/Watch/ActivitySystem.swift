import Foundation

/// ActivityKit and UIKit of this phone, or a simulated phone.
///
/// ActivityKit's types are generic over the attributes, so each followed type has an ``ActivityTypeAdapter``. Each function that returns
/// a stream subscribes before it returns.
package protocol ActivitySystem: Sendable {
    /// The switch for Live Activities in Settings.
    var areActivitiesEnabled: Bool { get }
    /// The switch for frequent updates; nil before iOS 16.2.
    var areFrequentPushesEnabled: Bool? { get }
    func enablements() -> AsyncStream<Bool>
    /// False before the first unlock of the phone, when ActivityKit lists nothing.
    func isProtectedDataAvailable() async -> Bool
    func transitions() -> AsyncStream<AppTransition>
    /// Begins a background task, if the app is in the background. iOS kills an app that exceeds its time of about 30 s, so the task
    /// also ends at its expiration.
    ///
    /// - Returns: a function that ends the task, and the time left.
    func beginBackgroundTask() async -> BackgroundTime?
    /// The push token of the app's widgets (iOS 26).
    func widgetToken() async -> Data?
}

package enum AppTransition: Sendable {
    case foreground
    /// The user sees the app and nothing over it: no Lock Screen and no Notification Center.
    case active
    case inactive
    case unlock
    /// The app may be suspended within seconds, unless a background task runs.
    case background(BackgroundTime)
}

package typealias BackgroundTime = (end: @Sendable () -> Void, left: Duration)

/// An activity of ActivityKit, or of a simulated phone.
package protocol SystemActivity: Sendable {
    var id: String { get }
    /// The names by which senders find it.
    var aliases: [String: String] { get }
    /// The start of a scheduled activity.
    var startsAt: Date? { get }
    var phase: ActivityPhase { get }
    var token: Data? { get }
    func tokens() -> AsyncStream<Data>
    func phases() -> AsyncStream<ActivityPhase>
    /// Ends it and removes it from the screen.
    func end() async
}

/// The state of an activity, as in ActivityKit.
package enum ActivityPhase: Sendable, Hashable {
    case pending, active, stale
    /// Over, and still visible.
    case ended
    /// Over, and no longer visible.
    case dismissed

    /// It runs or will run, so a full state lists it.
    package var runs: Bool { self != .ended && self != .dismissed }
    var isShown: Bool { self == .active || self == .stale }
}

/// How a type's activities receive updates, as in the `pushType` of ActivityKit's request.
public enum FollowedPushType: String, Sendable, Hashable, Codable {
    /// Each activity has a token of its own.
    case token
    /// The activities of one channel receive the same updates (iOS 18). They have no tokens.
    case channel
    /// The app alone updates them. They have no tokens.
    case none
}

/// One type of attributes: its activities and its start token.
package protocol ActivityTypeAdapter: Sendable {
    /// The name, as in `attributes-type` of a start push.
    var name: String { get }
    /// Of two shown activities with one `liveactivityId` the older one is ended (C8).
    var endsDuplicates: Bool { get }
    var pushType: FollowedPushType { get }
    /// All that ActivityKit lists now, ended activities too.
    func activities() -> [any SystemActivity]
    func newActivities() -> AsyncStream<any SystemActivity>
    func startToken() -> Data?
    func startTokens() -> AsyncStream<Data>
}
