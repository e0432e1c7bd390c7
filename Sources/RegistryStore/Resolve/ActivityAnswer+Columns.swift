import Foundation
import PostgresDriver
import RegistryCore

extension ActivityAnswer {
    static func columns(of row: String) -> Columns<ActivityAnswer> {
        let endedAt = "CASE \(row).reason WHEN 'logged-out' THEN \(row).removed_at ELSE \(row).ended_at END"
        let sql = """
            \(row).activity_id, \(row).end_reason::text, \(endedAt), coalesce(\(row).token_observed_at, \(row).last_observed_at),
            \(row).confirmed_at, \(row).expires_at, \(row).revision, \(row).state
            """
        return Columns(sql: sql) { row in
            try ActivityAnswer(
                stored: row.next(),
                endReason: row.next(),
                endedAt: row.next(),
                observedAt: row.next(),
                confirmedAt: row.next(),
                expiresAt: row.next(),
                revision: row.next(),
                state: ActivityState(stored: row.next())
            )
        }
    }

    private init(
        stored id: ActivityID,
        endReason: String?,
        endedAt: Date?,
        observedAt: Date?,
        confirmedAt: Date?,
        expiresAt: Date?,
        revision: Int,
        state: ActivityState
    ) {
        self.init(activityID: id, state: state, revision: revision)
        reason = endReason ?? ([.expired, .ended].contains(state) ? state.rawValue : nil)
        self.endedAt = endedAt
        self.observedAt = observedAt
        self.confirmedAt = confirmedAt
        self.expiresAt = expiresAt
    }
}
