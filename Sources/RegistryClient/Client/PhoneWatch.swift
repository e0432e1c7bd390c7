/// The layer over ActivityKit, as far as the client knows of it.
package protocol PhoneWatch: Sendable {
    /// Subscribes before it returns, and waits for nothing (C1).
    func start()
    /// Reports go out now: a good time to look whether a start token has silently changed (C3).
    func reportsGoOut()
    /// The ids of all activities that the phone shows, or has scheduled.
    func runningActivities() -> [String]
}

/// The layer over ActivityKit that is attached to a client, if any.
package struct Attachment: Sendable {
    package var watch: (any PhoneWatch)?
    /// The app has called `start()`: what is attached later begins at once.
    package internal(set) var isStarted = false
}
