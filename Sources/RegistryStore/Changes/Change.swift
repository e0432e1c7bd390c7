import Foundation
import PostgresDriver
import RegistryCore

/// A change that senders can see, without a token. It indicates which state to read again.
package struct Change: Sendable, Hashable, JSONObjectEncodable {
    /// Increases with each change of the same activity, installation or alias.
    package let number: Int64
    package let at: Date
    package let type: String
    package let activityID: UTF8Text?
    package let installation: InstallationHash?
    package let attributesType: UTF8Text?
    /// Stored JSON, `{"kind": ["value", …]}`: the aliases at that time and the aliases that the change removed.
    package let aliases: [UInt8]?
    /// Why a token is no longer deliverable, such as `unregistered`, or how an activity ended.
    package let reason: String?

    /// Nil if the change does not affect the state.
    package var state: ActivityState? {
        ["available", "rotated", "returned"].contains(type) ? .active : ActivityState(rawValue: type)
    }

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

    /// Nil for an event that senders do not need.
    init?(event row: NamedRow) throws {
        number = try row["event_number"]
        at = try row["recorded_at"]
        let event: String = try row["type"]
        activityID = try row["activity_id"]
        installation = try row["installation_hash"]
        aliases = try (row["aliases"] as JSONB?)?.bytes
        let tokenKind: String? = try row["token_kind"]
        attributesType = try row["attributes_type"]
        let withheld = Self.withheld[event]
        let meaning: (type: String, reason: String?)? =
            switch (event, tokenKind, activityID) {
            case ("erased", _, _): ("erased", nil)
            case ("channel-set", _, _), ("channel-deleted", _, _): ("channel", nil)
            case (_, let kind?, _): ("\(kind)-token", withheld)
            case ("registered", nil, _?): ("available", nil)
            case ("reactivated", nil, _?), ("released", nil, _?): ("returned", nil)
            case ("ended", nil, _?): ("ended", try row["end_reason"])
            case ("rotated", nil, _?), ("dismissed", nil, _?), ("expired", nil, _?), ("changed", nil, _?): (event, nil)
            case ("aliases-changed", nil, _?): ("aliases", nil)
            case (_, nil, _?): withheld.map { ("unavailable", $0) }
            case ("logged-out", nil, nil): ("unavailable", "logged-out")
            case ("taken-over", nil, nil), ("installation-changed", nil, nil): ("aliases", nil)
            // The activity or installation was erased meanwhile.
            default: nil
            }
        guard let meaning else { return nil }
        (type, reason) = meaning
    }

    private static let withheld = [
        "dropped": "unregistered", "quarantined": "quarantined", "taken-over": "taken-over", "purged": "purged",
        "deleted": "deleted",
    ]
}
