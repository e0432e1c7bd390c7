import Foundation

/// One change, as the audit trail has it (R11).
public struct AuditEvent: Sendable, Hashable {
    /// Grows with time, but for changes that overlap; pages are ordered by it.
    public let number: Int64
    public let recordedAt: Date
    /// Such as `registered`; the set is open.
    public let type: String
    /// Key id or subject, `sweep`, `command-line`, or `insecure` without authentication.
    public let who: String
    public var activityID: String?
    public var installation: InstallationHash?
    public var subject: String?
    /// JSON as it was stored: `{"kind": ["value", …]}`.
    public var aliases: [UInt8]?
    /// The first 4 bytes of the token's SHA-256.
    public var fingerprint: [UInt8]?

    public init(number: Int64, recordedAt: Date, type: String, who: String) {
        self.number = number
        self.recordedAt = recordedAt
        self.type = type
        self.who = who
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
        }
    }
}

/// Which events are asked for; what is nil says nothing.
public struct EventFilter: Sendable, Hashable {
    public var activityID: ActivityID?
    public var installation: InstallationHash?
    public var subject: String?
    /// That the activity or installation bore then.
    public var alias: Alias?
    public var type: String?
    /// From this time on.
    public var since: Date?
    /// Before this time.
    public var until: Date?

    public init() {}
}
