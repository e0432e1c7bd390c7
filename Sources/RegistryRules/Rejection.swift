import RegistryCore

/// Why a request is not accepted, or why its token is not deliverable although the request was merged (R0).
package enum Rejection: Error, Sendable, Hashable {
    /// A time is implausible (R5); nothing was merged.
    case clockSkew([JSONFault])
    /// The record belongs to another user or installation; nothing was merged.
    case notYours
    /// The registration is over by its own times (R5); nothing was merged.
    case stale
    /// It names erased data; nothing was merged.
    case erased
    /// The installation has start tokens of the most attributes types; nothing was merged.
    case noRoom
    /// The activity has ended (R4).
    case ended
    /// The activity's lifetime is over (R5).
    case expired
    /// Another token of the activity is later (R3).
    case superseded
    /// The token is withheld (R2, R7, R8).
    case withheld(WithholdingReason)
}
