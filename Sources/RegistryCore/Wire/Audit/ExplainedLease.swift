import Foundation

/// A start lease as the audit shows it, and what became of it.
package struct ExplainedLease: Sendable, Hashable {
    /// The end of a lease, if it has come; each case is a stable word of the API.
    package enum State: String, Sendable, Hashable, CaseIterable {
        /// Nobody else may start the activity on the installation.
        case live
        /// The activity was registered since.
        case registered
        /// A sender reported that the start push failed.
        case failed
        /// Its holder gave it back.
        case released
        /// Its time passed, and nothing was heard.
        case expired
    }

    /// The id that its holder got.
    package let id: LeaseID
    /// The activity that is to be started.
    package let alias: Alias
    /// The phone on which.
    package let installation: InstallationHash
    /// The type of the start token that was handed out with it.
    package let attributesType: UTF8Text
    /// Its holder's name of the plan; nil where they gave none.
    package var planID: UTF8Text?
    /// Whether it is live, else how it ended.
    package let state: State
    /// When it was taken, by Postgres's clock.
    package let leasedAt: Date
    /// Until when it is its holder's, or was.
    package let leasedUntil: Date
    /// How many starts were tried within the day before it was taken, it included.
    package let attempt: Int
    /// The answer of APNs to the start push, as a sender reported it.
    package var failure: UTF8Text?
    /// From when on another start may be tried after a failure.
    package var retryAt: Date?

    /// Makes a lease of its parts.
    package init(
        id: LeaseID,
        alias: Alias,
        installation: InstallationHash,
        attributesType: UTF8Text,
        planID: UTF8Text? = nil,
        state: State,
        leasedAt: Date,
        leasedUntil: Date,
        attempt: Int,
        failure: UTF8Text? = nil,
        retryAt: Date? = nil
    ) {
        self.id = id
        self.alias = alias
        self.installation = installation
        self.attributesType = attributesType
        self.planID = planID
        self.state = state
        self.leasedAt = leasedAt
        self.leasedUntil = leasedUntil
        self.attempt = attempt
        self.failure = failure
        self.retryAt = retryAt
    }

    /// The same as ``state`` in one sentence.
    package var sentence: String {
        let start = "Start \(attempt) within 24 hours"
        return switch state {
        case .live: "\(start) is under way until \(RFC3339.format(leasedUntil)); nobody else starts the activity."
        case .registered: "The activity was registered after start \(attempt)."
        case .failed: "\(start) failed: APNs said \(failure?.string ?? "no")."
        case .released: "Its holder gave it back."
        case .expired: "\(start) brought no activity by \(RFC3339.format(leasedUntil))."
        }
    }
}

extension ExplainedLease: JSONEncodable {
    /// Writes everything that there is.
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("leaseId", id.description)
            json.member("alias", alias)
            json.hex("installation", installation.bytes)
            json.member("attributesType", attributesType)
            json.member("planId", ifPresent: planID)
            json.member("state", state.rawValue)
            json.member("detail", sentence)
            json.member("leasedAt", leasedAt)
            json.member("leasedUntil", leasedUntil)
            json.member("attempt", attempt)
            json.member("failure", ifPresent: failure)
            json.member("retryAt", ifPresent: retryAt)
        }
    }
}
