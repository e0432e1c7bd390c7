import Foundation

/// One change, as the audit trail has it (R11).
public struct AuditEvent: Sendable, Hashable {
    /// Grows with time, but for changes that overlap; pages are ordered by it.
    public let number: Int64
    /// Postgres's clock when the transaction of the change began.
    public let recordedAt: Date
    /// Such as `registered`; the set is open.
    public let type: String
    /// Key id, `user:` and a subject, `sweep`, `command-line`, or `insecure` without authentication.
    public let who: UTF8Text
    /// The activity that was changed; nil for events about none, and once it was erased.
    public var activityID: UTF8Text?
    /// The installation that was changed, or that of the activity; nil when there is none, and once it was erased.
    public var installation: InstallationHash?
    /// The `sub` of the signed-in user to whom the activity or installation belonged; nil for none, and once erased.
    public var subject: UTF8Text?
    /// JSON as it was stored: `{"kind": ["value", …]}`.
    public var aliases: [UInt8]?
    /// The first 4 bytes of the token's SHA-256.
    public var fingerprint: [UInt8]?
    /// The start lease that was taken, given back or failed.
    public var leaseID: LeaseID?

    /// Makes an event of its parts.
    public init(
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
    /// Writes everything that there is.
    public func encode(to json: inout JSONWriter) {
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

/// Which events are asked for; what is nil says nothing.
public struct EventFilter: Sendable, Hashable {
    /// The activity that events are about.
    public var activityID: ActivityID?
    /// The installation that events are about, or that of their activity.
    public var installation: InstallationHash?
    /// The `sub` of the signed-in user to whom the activity or installation belonged then.
    public var subject: UTF8Text?
    /// That the activity or installation bore then.
    public var alias: Alias?
    /// The type of event, such as `registered`; one that does not exist finds nothing.
    public var type: UTF8Text?
    /// From this time on.
    public var since: Date?
    /// Before this time.
    public var until: Date?

    /// Makes a filter that lets every event through.
    public init() {}
}
