/// A phone: that of UIKit and ActivityKit, or a test's.
///
/// One type of attributes on it is a ``FollowedType``, for ActivityKit's names are generic.
package protocol Phone: Sendable {
    /// The switch in Settings.
    var areActivitiesEnabled: Bool { get }
    /// The other switch, for frequent updates; nil where there is none.
    var areFrequentPushesEnabled: Bool? { get }
    /// Subscribes to the switch before it returns.
    func enablements() -> AsyncStream<Bool>
    /// Whether the phone is unlocked: until its first unlock it says that nothing runs.
    func isProtectedDataAvailable() async -> Bool
    /// Subscribes before it returns.
    func moments() -> AsyncStream<PhoneMoment>
    func isInBackground() async -> Bool
    /// Asks the system for some seconds more, and ends once the body has.
    func stayAwake(_ body: @Sendable () async -> Void) async
}

/// A moment at which to look again, or for the last time.
package enum PhoneMoment: Sendable, Hashable {
    /// The app came to the foreground.
    case foreground
    /// The phone was unlocked.
    case unlock
    /// The app went to the background, where it may be stopped within seconds.
    case background
}
