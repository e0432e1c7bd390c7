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
