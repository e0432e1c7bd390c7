import Foundation
import RegistryCore

package struct TokenRegistrationResult: Sendable, Hashable {
    /// `reactivated` if a deletion or a log-out had emptied the slot.
    package let outcome: RegistrationOutcome
    package let status: TokenStatus
}

extension TokenRegistrationResult: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        status.writeMembers(to: &json)
        json.member("outcome", outcome.rawValue)
        json.member("confirmedAt", ifPresent: status.confirmedAt)
    }
}
