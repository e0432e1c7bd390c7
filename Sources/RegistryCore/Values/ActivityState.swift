package enum ActivityState: String, Sendable, Hashable, CaseIterable {
    /// It runs; its token, if any, may be handed out.
    case active
    /// It was missing from its installation's full state; a later observation brings it back.
    case dismissed
    case ended
    case expired
}

package enum EndReason: String, Sendable, Hashable, CaseIterable {
    case ended
    case dismissed
}

package enum RegistrationOutcome: String, Sendable, Hashable, CaseIterable {
    /// The activity's first token, or its first sign of life.
    case registered
    /// Another token replaced the former one.
    case rotated
    /// The current token was confirmed.
    case refreshed
    /// The activity was dismissed and runs again.
    case reactivated
}
