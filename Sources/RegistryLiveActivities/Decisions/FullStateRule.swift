/// When a list of all that runs may be believed (C7): a value without I/O.
package struct FullStateRule: Sendable {
    /// ActivityKit lists nothing for a moment after a launch.
    package static let settling = Duration.seconds(1)

    private let subscribed: Duration

    package init(subscribed: Duration) { self.subscribed = subscribed }

    /// The earliest time of the monotonic clock.
    package var earliest: Duration { subscribed + Self.settling }

    /// Whether the list may be read now.
    package func allows(at uptime: Duration, isProtectedDataAvailable: Bool) -> Bool {
        isProtectedDataAvailable && uptime >= earliest
    }
}
