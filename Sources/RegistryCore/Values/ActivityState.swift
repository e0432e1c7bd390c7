/// The state of an activity, as clients and senders see it.
package enum ActivityState: String, Sendable, Hashable, CaseIterable {
    /// It runs; its token, once it has one, may be handed out.
    case active
    /// It was missing from its installation's full state; a later observation brings it back.
    case dismissed
    /// It ended; that is final.
    case ended
    /// Its lifetime is over, counted from `startedAt`.
    case expired
}

/// Why an activity ended, as the client said.
package enum EndReason: String, Sendable, Hashable, CaseIterable {
    case ended
    case dismissed
}

/// The result of a registration.
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
