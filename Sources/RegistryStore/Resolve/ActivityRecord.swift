import Foundation
import PostgresDriver
import RegistryCore

/// A sender's view of an activity in any state.
package struct ActivityRecord: Sendable, Hashable, DecodableRow {
    package let status: ActivityStatus
    /// Nil unless it is deliverable.
    package let token: PushToken?
    package let installation: InstallationHash?
    package let facts: ActivityFacts
    package let startedAt: Date
    package let startsAt: Date?

    package init(row: NamedRow) throws {
        let (state, reason): (ActivityState, TokenAvailability?) = (try row["state"], try row["reason"])
        var status = ActivityStatus(activityID: try row["activity_id"], state: state, revision: try row["revision"])
        status.endedAt = reason == .loggedOut ? try row["removed_at"] : try row["ended_at"]
        status.observedAt = try row["token_observed_at"] ?? row["last_observed_at"]
        status.confirmedAt = try row["confirmed_at"]
        status.expiresAt = try row["expires_at"]
        status.reason =
            switch state {
            case .active: reason == .noToken ? nil : reason?.rawValue
            case .dismissed: try row["end_reason"]
            case .ended, .expired: try row["end_reason"] ?? state.rawValue
            }
        self.status = status
        token = reason == nil ? try row["token"] : nil
        installation = try row["installation_hash"]
        facts = try ActivityFacts(forSenders: row)
        startedAt = try row["started_at"]
        startsAt = try row["starts_at"]
    }

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
