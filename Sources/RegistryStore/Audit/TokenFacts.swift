import Foundation
import RegistryCore

package struct TokenFacts: Sendable, Hashable {
    /// The first reason, if it is not deliverable.
    package var availability: TokenAvailability
    package var since: Date?
    package var endReason: String?
    package var quarantineReason: String?

    package var sentence: String {
        switch availability {
        case .handedOut: "Senders get it."
        case .ended:
            endReason == "dismissed"
                ? "The user dismissed the activity\(at); that is final." : "The activity was ended\(at); that is final."
        case .loggedOut: "Its installation logged out\(at); later observations count again."
        case .expired: "The activity's lifetime ended\(at); iOS no longer shows it."
        case .dismissed: "The full state of its installation\(at) did not list it; a later observation brings it back."
        case .noToken: "It has no token yet; senders get it when the app registers one."
        case .channel: "It has no token; the broadcast channel reaches it."
        case .noPush: "It gets no token; its app alone updates it."
        case .takenOver:
            "Another activity or installation registered the token later\(at); register the current token."
        case .kindConflict: "The value was registered as a token of another kind\(at), so it is withheld here."
        case .unregistered: "APNs reported the token as dead\(at), and no client has registered it since."
        case .quarantined:
            "A sender reported \(quarantineReason ?? "it")\(at); a later registration or an admin's release ends this."
        case .purged: "An admin purged registrations up to\(upTo); a later observation brings it back."
        case .deleted: "The app deleted it\(at); a later observation brings it back."
        }
    }

    private var at: String { since.map { " at \(RFC3339.format($0))" } ?? "" }
    private var upTo: String { since.map { " \(RFC3339.format($0))" } ?? " then" }
}
