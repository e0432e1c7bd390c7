import Foundation
import RegistryCore

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
}

extension Change: JSONObjectEncodable {
    package func writeMembers(to json: inout JSONWriter) {
        json.member("id", String(number))
        json.member("at", at)
        json.member("type", type)
        json.member("activityId", ifPresent: activityID)
        json.hex("installation", ifPresent: installation?.bytes)
        json.member("attributesType", ifPresent: attributesType)
        json.raw("aliases", ifPresent: aliases)
        json.member("state", ifPresent: state?.rawValue)
        json.member("reason", ifPresent: reason)
    }
}
