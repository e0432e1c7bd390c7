import Foundation
import PostgresDriver
import RegistryCore

struct ChangeEvent: DecodableRow {
    let number: Int64
    let recordedAt: Date
    let type: String
    let activityID: UTF8Text?
    let installation: InstallationHash?
    let aliases: [UInt8]?
    let tokenKind: String?
    let attributesType: UTF8Text?
    let endReason: String?

    init(row: NamedRow) throws {
        number = try row["event_number"]
        recordedAt = try row["recorded_at"]
        type = try row["type"]
        activityID = try row["activity_id"]
        installation = try row["installation_hash"]
        aliases = try (row["aliases"] as JSONB?)?.bytes
        tokenKind = try row["token_kind"]
        attributesType = try row["attributes_type"]
        endReason = try row["end_reason"]
    }
}

extension Change {
    /// Nil for an event that senders do not need.
    init?(_ event: ChangeEvent) {
        guard let meaning = Meaning(event) else { return nil }
        self.init(
            number: event.number,
            at: event.recordedAt,
            type: meaning.type,
            activityID: event.activityID,
            installation: event.installation,
            attributesType: event.attributesType,
            aliases: event.aliases,
            state: meaning.state,
            reason: meaning.reason
        )
    }

    private struct Meaning {
        var type: String
        var state: ActivityState?
        var reason: String?

        init(_ type: String, _ state: ActivityState? = nil, reason: String? = nil) {
            self.type = type
            self.state = state
            self.reason = reason
        }

        init?(_ event: ChangeEvent) {
            switch event.type {
            case "erased": self.init("erased")
            case "channel-set", "channel-deleted": self.init("channel")
            default:
                if let kind = event.tokenKind {
                    self.init("\(kind)-token", reason: Self.withheld[event.type])
                } else if event.activityID != nil {
                    self.init(ofActivity: event)
                } else {
                    self.init(ofInstallation: event)
                }
            }
        }

        private init?(ofActivity event: ChangeEvent) {
            switch event.type {
            case "registered": self.init("available", .active)
            case "rotated": self.init("rotated", .active)
            case "reactivated", "released": self.init("returned", .active)
            case "ended": self.init("ended", .ended, reason: event.endReason)
            case "dismissed": self.init("dismissed", .dismissed)
            case "expired": self.init("expired", .expired)
            case "aliases-changed": self.init("aliases")
            case "changed": self.init("changed")
            default:
                guard let reason = Self.withheld[event.type] else { return nil }
                self.init("unavailable", reason: reason)
            }
        }

        private init?(ofInstallation event: ChangeEvent) {
            switch event.type {
            case "logged-out": self.init("unavailable", reason: "logged-out")
            case "taken-over", "installation-changed": self.init("aliases")
            // The activity or installation was erased meanwhile.
            default: return nil
            }
        }

        /// Reasons by event type.
        private static let withheld = [
            "dropped": "unregistered", "quarantined": "quarantined", "taken-over": "taken-over", "purged": "purged",
            "deleted": "deleted",
        ]
    }
}
