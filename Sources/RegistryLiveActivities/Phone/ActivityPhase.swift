/// The state of an activity, as ActivityKit has it.
package enum ActivityPhase: Sendable, Hashable {
    /// Scheduled for later.
    case pending
    case active
    /// Its content is older than it was meant to become.
    case stale
    /// Over, and still visible.
    case ended
    /// Over, and gone from the screen.
    case dismissed

    /// It runs, or will: it belongs into a full state.
    package var runs: Bool {
        switch self {
        case .pending, .active, .stale: true
        case .ended, .dismissed: false
        }
    }

    /// The user sees it, and it goes on.
    var isShown: Bool { self == .active || self == .stale }
}
