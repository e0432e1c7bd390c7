import Foundation

/// A change that senders can see, without a token. It indicates which state to read again.
package struct Change: Sendable, Hashable {
    /// Increases with each change of the same activity, installation or alias.
    package let number: Int64
    /// Postgres's clock at the start of the transaction.
    package let at: Date
    /// Such as `available`. The set is open.
    package let type: String
    /// Nil for changes without an activity, and after an erasure.
    package var activityID: UTF8Text?
    /// The changed installation, or the activity's. Nil if the change has none, and after an erasure.
    package var installation: InstallationHash?
    package var attributesType: UTF8Text?
    /// Stored JSON, `{"kind": ["value", …]}`: the aliases at that time and the aliases that the change removed.
    package var aliases: [UInt8]?
    /// Nil if the change does not affect the state.
    package var state: ActivityState?
    /// Why a token is no longer deliverable, such as `unregistered`, or how an activity ended.
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
