import Foundation
import PostgresDriver
import RegistryCore

/// A row of an alias; the activity is nil if its token is withheld.
struct AliasRow: DecodableRow {
    let key: Int64
    let activity: ResolvedActivity?

    init(row: NamedRow) throws {
        key = try row["activity_key"]
        let id: ActivityID? = try row["activity_id"]
        activity = id == nil ? nil : try ResolvedActivity(row: row)
    }
}

extension ResolvedActivity: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(
            key: try row["activity_key"],
            activityID: try row["activity_id"],
            token: try row["token"],
            installation: try row["installation_hash"],
            facts: try ActivityFacts(row: row),
            startedAt: try row["started_at"],
            startsAt: try row["starts_at"],
            observedAt: try row["token_observed_at"],
            confirmedAt: try row["confirmed_at"],
            expiresAt: try row["expires_at"],
            revision: try row["revision"]
        )
    }
}

extension ActivityRecord: DecodableRow {
    package init(row: NamedRow) throws {
        let state = try ActivityState(stored: row["state"] as String)
        var status = ActivityStatus(activityID: try row["activity_id"], state: state, revision: try row["revision"])
        status.endedAt = try row["ended_at"]
        status.observedAt = try row["observed_at"]
        status.confirmedAt = try row["confirmed_at"]
        status.expiresAt = try row["expires_at"]
        status.reason =
            state == .active ? try row["reason"] : try row["end_reason"] ?? (state == .dismissed ? nil : state.rawValue)
        self.init(
            status: status,
            token: try row["token"],
            installation: try row["installation_hash"],
            facts: try ActivityFacts(row: row),
            startedAt: try row["started_at"],
            startsAt: try row["starts_at"]
        )
    }
}
