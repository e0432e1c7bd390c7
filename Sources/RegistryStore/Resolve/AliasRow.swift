import Foundation
import PostgresDriver
import RegistryCore

/// A row of an alias; the activity is nil if its token is withheld.
struct AliasRow: DecodableRow {
    let key: Int64
    let activity: ResolvedActivity?

    init(row: NamedRow) throws {
        key = try row["row_key"]
        activity = try row["activity_key"] as Int64? == nil ? nil : ResolvedActivity(row: row)
    }
}

extension ResolvedActivity: DecodableRow {
    package init(row: NamedRow) throws {
        self.init(
            key: try row["activity_key"],
            activityID: try row["activity_id"],
            token: try row["token"],
            installation: try row["installation_hash"],
            facts: try ActivityFacts(forSenders: row),
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
        let (state, reason): (ActivityState, TokenAvailability?) = (try row["state"], try row["reason"])
        var status = ActivityStatus(activityID: try row["activity_id"], state: state, revision: try row["revision"])
        status.endedAt = reason == .loggedOut ? try row["removed_at"] : try row["ended_at"]
        status.observedAt = try row["token_observed_at"] ?? row["last_observed_at"]
        status.confirmedAt = try row["confirmed_at"]
        status.expiresAt = try row["expires_at"]
        status.reason =
            switch state {
            case .active: reason == .noToken ? nil : reason?.rawValue
            case .dismissed: try row["end_reason"]
            case .ended, .expired: try row["end_reason"] ?? state.rawValue
            }
        self.init(
            status: status,
            token: reason == nil ? try row["token"] : nil,
            installation: try row["installation_hash"],
            facts: try ActivityFacts(forSenders: row),
            startedAt: try row["started_at"],
            startsAt: try row["starts_at"]
        )
    }
}
