import Foundation
import RegistryCore

/// A sender's view of an activity in any state.
package struct ActivityRecord: Sendable, Hashable {
    package let status: ActivityStatus
    /// Nil unless it is deliverable.
    package let token: PushToken?
    package let installation: InstallationHash?
    package let facts: ActivityFacts
    package let startedAt: Date
    package let startsAt: Date?
}

extension ActivityRecord {
    package func encode(to json: inout JSONWriter, bundleID: BundleID, environment: APNSEnvironment) {
        json.object { json in
            json.member("activityId", status.activityID.rawValue)
            json.member("state", status.state.rawValue)
            json.member("reason", ifPresent: status.reason)
            json.hex("token", ifPresent: token?.bytes)
            json.member("topic", TokenKind.update.topic(of: bundleID))
            json.member("pushType", TokenKind.update.pushType)
            json.member("environment", environment.rawValue)
            json.hex("installation", ifPresent: installation?.bytes)
            facts.writeMembers(to: &json)
            json.member("startedAt", startedAt)
            json.member("startsAt", ifPresent: startsAt)
            json.member("observedAt", ifPresent: status.observedAt)
            json.member("confirmedAt", ifPresent: status.confirmedAt)
            json.member("expiresAt", ifPresent: status.expiresAt)
            json.member("endedAt", ifPresent: status.endedAt)
            json.member("revision", status.revision)
        }
    }
}
