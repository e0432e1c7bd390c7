import Foundation
import RegistryCore

package struct RegistrationResult: Sendable, Hashable {
    package let outcome: RegistrationOutcome
    package let activity: ActivityStatus
}

extension RegistrationResult: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("activityId", activity.activityID.rawValue)
        json.member("outcome", outcome.rawValue)
        json.member("state", activity.state.rawValue)
        json.member("observedAt", ifPresent: activity.observedAt)
        json.member("confirmedAt", ifPresent: activity.confirmedAt)
        json.member("expiresAt", ifPresent: activity.expiresAt)
        json.member("revision", activity.revision)
    }
}
