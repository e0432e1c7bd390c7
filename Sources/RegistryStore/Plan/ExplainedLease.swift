import RegistryCore
import RegistryRules

package struct ExplainedLease: Sendable, Hashable {
    package let lease: Lease
    package let state: Lease.State

    package var sentence: String {
        let start = "Start \(lease.attempt) within 24 hours"
        let end = RFC3339.format(lease.leasedUntil.date)
        return switch state {
        case .live: "\(start) is in progress until \(end); no other sender starts the activity."
        case .registered: "The activity was registered after start \(lease.attempt)."
        case .failed: "\(start) failed: APNs reported \(lease.failure?.reason.string ?? "an error")."
        case .released: "Its sender gave it back."
        case .expired: "\(start) led to no registration by \(end)."
        }
    }
}

extension ExplainedLease: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("leaseId", lease.id.description)
        json.member("alias", lease.alias)
        json.hex("installation", lease.installation.bytes)
        json.member("attributesType", lease.attributesType.rawValue)
        json.member("planId", ifPresent: lease.planID)
        json.member("state", state.rawValue)
        json.member("detail", sentence)
        json.member("leasedAt", lease.leasedAt.date)
        json.member("leasedUntil", lease.leasedUntil.date)
        json.member("attempt", lease.attempt)
        json.member("failure", ifPresent: lease.failure?.reason)
        json.member("retryAt", ifPresent: lease.failure?.retryAt.date)
    }
}
