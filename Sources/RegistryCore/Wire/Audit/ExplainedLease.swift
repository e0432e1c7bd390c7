import Foundation

package struct ExplainedLease: Sendable, Hashable {
    /// The raw values are part of the API.
    package enum State: String, Sendable, Hashable, CaseIterable {
        case live
        case registered
        case failed
        case released
        /// The lease ended without a report.
        case expired
    }

    package let id: LeaseID
    package let alias: Alias
    package let installation: InstallationHash
    package let attributesType: UTF8Text
    /// The sender's own name of the plan, if any.
    package var planID: UTF8Text?
    package let state: State
    package let leasedAt: Date
    package let leasedUntil: Date
    /// The number of starts within a day, including this one.
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
        case .live: "\(start) is in progress until \(RFC3339.format(leasedUntil)); no other sender starts the activity."
        case .registered: "The activity was registered after start \(attempt)."
        case .failed: "\(start) failed: APNs reported \(failure?.string ?? "an error")."
        case .released: "Its sender gave it back."
        case .expired: "\(start) led to no registration by \(RFC3339.format(leasedUntil))."
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
