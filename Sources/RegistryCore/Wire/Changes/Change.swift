import Foundation

/// A change visible to senders, without a token: it shows where to look again.
package struct Change: Sendable, Hashable {
    /// The number of its event. Of two changes of one activity, installation or alias, the later has the greater
    /// number.
    package let number: Int64
    /// Postgres's clock when the transaction of the change began.
    package let at: Date
    /// Such as `available`; the set is open.
    package let type: String
    /// The activity that was changed; nil where the change is of none, and once it was erased.
    package var activityID: UTF8Text?
    /// The installation that was changed, or that of the activity; nil where there is none, and once it was erased.
    package var installation: InstallationHash?
    /// The attributes type of the activity or the start token.
    package var attributesType: UTF8Text?
    /// JSON as it was stored, `{"kind": ["value", …]}`: those of that time, and those that the change took away.
    package var aliases: [UInt8]?
    /// The new state of the activity; nil if the change does not say.
    package var state: ActivityState?
    /// Such as `unregistered`: why a token is no longer handed out, or how an activity ended.
    package var reason: String?

    package init(
        number: Int64,
        at: Date,
        type: String,
        activityID: UTF8Text? = nil,
        installation: InstallationHash? = nil,
        attributesType: UTF8Text? = nil,
        aliases: [UInt8]? = nil,
        state: ActivityState? = nil,
        reason: String? = nil
    ) {
        self.number = number
        self.at = at
        self.type = type
        self.activityID = activityID
        self.installation = installation
        self.attributesType = attributesType
        self.aliases = aliases
        self.state = state
        self.reason = reason
    }
}

extension Change: JSONEncodable {
    package func encode(to json: inout JSONWriter) {
        json.object { json in
            json.member("id", String(number))
            json.member("at", at)
            json.member("type", type)
            json.member("activityId", ifPresent: activityID)
            if let installation { json.hex("installation", installation.bytes) }
            json.member("attributesType", ifPresent: attributesType)
            if let aliases {
                json.key("aliases")
                json.raw(aliases)
            }
            json.member("state", ifPresent: state?.rawValue)
            json.member("reason", ifPresent: reason)
        }
    }
}
