import RegistryCore

/// Why a request is rejected, or why its token is not deliverable although the request was merged (R0).
package enum Rejection: Error, Sendable, Hashable {
    /// A time is implausible (R5); nothing was merged.
    case clockSkew([JSONFault])
    /// The record belongs to another user or installation; nothing was merged.
    case notYours
    /// The registration has expired by its own times (R5); nothing was merged.
    case stale
    /// The request names erased data; nothing was merged.
    case erased
    /// The installation has the maximum number of start-token slots; nothing was merged.
    case noRoom
    case ended
    /// The activity's lifetime is over (R5).
    case expired
    case superseded
    /// The token is withheld (R2, R7, R8).
    case withheld(WithholdingReason)
}
