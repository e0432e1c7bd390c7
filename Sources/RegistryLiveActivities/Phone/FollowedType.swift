import Foundation

/// One type of attributes on a phone: its activities and its start token.
package struct FollowedType: Sendable {
    /// The name, as APNs has it in `attributes-type`.
    package let name: String
    /// Of two shown activities with one `liveactivityId` the older one is ended (C8).
    package var keepsNewest = true
    /// All that the phone lists now, ended ones too.
    package let activities: @Sendable () -> [any PhoneActivity]
    /// Those that begin; subscribes before it returns.
    package let newActivities: @Sendable () -> AsyncStream<any PhoneActivity>
    /// The token that starts an activity by push, now.
    package let startToken: @Sendable () -> Data?
    /// Each new start token; subscribes before it returns.
    package let startTokens: @Sendable () -> AsyncStream<Data>

    package init(
        name: String,
        activities: @escaping @Sendable () -> [any PhoneActivity],
        newActivities: @escaping @Sendable () -> AsyncStream<any PhoneActivity>,
        startToken: @escaping @Sendable () -> Data?,
        startTokens: @escaping @Sendable () -> AsyncStream<Data>
    ) {
        self.name = name
        (self.activities, self.newActivities) = (activities, newActivities)
        (self.startToken, self.startTokens) = (startToken, startTokens)
    }
}
