import Foundation

/// One change, as the audit trail has it (R11).
package struct AuditEvent: Sendable, Hashable {
    /// Grows with time, but for changes that overlap; pages are ordered by it.
    package let number: Int64
    /// Postgres's clock when the transaction of the change began.
    package let recordedAt: Date
    /// Such as `registered`; the set is open.
    package let type: String
    /// Key id, `user:` and a subject, `sweep`, `command-line`, or `insecure` without authentication.
    package let who: UTF8Text
    /// The activity that was changed; nil for events about none, and once it was erased.
    package var activityID: UTF8Text?
    /// The installation that was changed, or that of the activity; nil when there is none, and once it was erased.
    package var installation: InstallationHash?
    /// The `sub` of the signed-in user to whom the activity or installation belonged; nil for none, and once erased.
    package var subject: UTF8Text?
    /// JSON as it was stored: `{"kind": ["value", …]}`.
    package var aliases: [UInt8]?
    /// The first 4 bytes of the token's SHA-256.
    package var fingerprint: [UInt8]?
    /// The start lease that was taken, given back or failed.
    package var leaseID: LeaseID?

    package init(
        number: Int64,
        recordedAt: Date,
        type: String,
        who: UTF8Text,
        activityID: UTF8Text? = nil,
        installation: InstallationHash? = nil,
        subject: UTF8Text? = nil,
        aliases: [UInt8]? = nil,
        fingerprint: [UInt8]? = nil,
        leaseID: LeaseID? = nil
    ) {
        self.number = number
        self.recordedAt = recordedAt
        self.type = type
        self.who = who
        self.activityID = activityID
        self.installation = installation
        self.subject = subject
        self.aliases = aliases
        self.fingerprint = fingerprint
        self.leaseID = leaseID
    }
}

extension AuditEvent: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("at", recordedAt)
            json.member("type", type)
            json.member("who", who)
            json.member("activityId", ifPresent: activityID)
            if let installation { json.hex("installation", installation.bytes) }
            json.member("subject", ifPresent: subject)
            if let aliases {
                json.key("aliases")
                json.raw(aliases)
            }
            if let fingerprint { json.hex("fingerprint", fingerprint) }
            json.member("leaseId", ifPresent: leaseID?.description)
        }
    }
}

/// A nil member filters nothing.
package struct EventFilter: Sendable, Hashable {
    package var activityID: ActivityID?
    package var installation: InstallationHash?
    /// The `sub` of the signed-in user to whom the activity or installation belonged then.
    package var subject: UTF8Text?
    /// That the activity or installation bore then.
    package var alias: Alias?
    package var type: UTF8Text?
    package var since: Date?
    package var until: Date?
    package init() {}
}
