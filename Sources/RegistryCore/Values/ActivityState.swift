package enum ActivityState: String, Sendable, Hashable, CaseIterable {
    /// It runs. Its token, if any, may be deliverable.
    case active
    /// Its installation's full state did not list it. A later observation makes it active again.
    case dismissed
    case ended
    case expired
}

package enum EndReason: String, Sendable, Hashable, CaseIterable {
    case ended
    case dismissed
}

package enum RegistrationOutcome: String, Sendable, Hashable, CaseIterable {
    case registered
    case rotated
    case refreshed
    case reactivated
}
