import Foundation
import RegistryCore

package struct AuditEvent: Sendable, Hashable {
    /// Increases with time, except between overlapping transactions. Orders pages.
    package let number: Int64
    /// Postgres's clock at the start of the transaction.
    package let recordedAt: Date
    /// Such as `registered`. The set is open.
    package let type: String
    /// A key id, `user:` and a subject, `sweep`, `command-line`, or `insecure` without authentication.
    package let who: UTF8Text
    /// Nil for events without an activity, and after an erasure.
    package var activityID: UTF8Text?
    /// The changed installation, or the activity's. Nil if the event has none, and after an erasure.
    package var installation: InstallationHash?
    /// The owner's `sub`. Nil if the record has no owner, and after an erasure.
    package var subject: UTF8Text?
    /// Stored JSON, `{"kind": ["value", …]}`.
    package var aliases: [UInt8]?
    package var fingerprint: [UInt8]?
    /// The start lease that was taken, released or failed.
    package var leaseID: LeaseID?
}

extension AuditEvent: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("at", recordedAt)
        json.member("type", type)
        json.member("who", who)
        json.member("activityId", ifPresent: activityID)
        json.hex("installation", ifPresent: installation?.bytes)
        json.member("subject", ifPresent: subject)
        json.raw("aliases", ifPresent: aliases)
        json.hex("fingerprint", ifPresent: fingerprint)
        json.member("leaseId", ifPresent: leaseID?.description)
    }
}

/// A nil member filters nothing. `subject` and `alias` are those at the time of the event.
package struct EventFilter: Sendable, Hashable {
    package var activityID: ActivityID?
    package var installation: InstallationHash?
    package var subject: UTF8Text?
    package var alias: Alias?
    package var type: UTF8Text?
    package var since: Date?
    package var until: Date?
    package init() {}
}
