import Foundation

package struct ExplainedLease: Sendable, Hashable {
    /// Each case is a stable word of the API.
    package enum State: String, Sendable, Hashable, CaseIterable {
        /// No other caller may start the activity on the installation.
        case live
        case registered
        case failed
        case released
        /// It expired without a report.
        case expired
    }

    package let id: LeaseID
    package let alias: Alias
    package let installation: InstallationHash
    /// The type of the start token that was handed out with it.
    package let attributesType: UTF8Text
    /// Its holder's name of the plan; nil where they gave none.
    package var planID: UTF8Text?
    package let state: State
    /// When it was taken, by Postgres's clock.
    package let leasedAt: Date
    /// Until when it is its holder's, or was.
    package let leasedUntil: Date
    /// The number of starts tried within the day before it was taken, itself included.
    package let attempt: Int
    package var failure: UTF8Text?
    /// The earliest time of another start after a failure.
    package var retryAt: Date?

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
