import Foundation
import PostgresDriver
import RegistryCore

struct MergedActivity {
    /// `activity_outcome` of the schema.
    let outcome: String
    let tokenDigest: [UInt8]?
    let answer: ActivityAnswer
    let serverTime: Date
    /// It had not expired at the request.
    let isWithinLifetime: Bool
    /// The client's claim on the current token; before the request, the claim on an equal token.
    let claimedAt: Date?
    let previousClaimedAt: Date?

    var activityID: ActivityID { answer.activityID }

    /// The columns of a returned row `stored`, which is in no view yet: its state follows from the installation as the
    /// statement saw it.
    static let columns = columns(
        removedAt: "stored.installation_removed_at",
        fullStateAt: "stored.installation_full_state_at"
    )

    /// - Parameters:
    ///   - removedAt: when its installation logged out.
    ///   - fullStateAt: its installation's last full state.
    static func columns(removedAt: String, fullStateAt: String) -> Columns<MergedActivity> {
        let answer = ActivityAnswer.columns(
            "stored",
            endedAt: """
                coalesce(stored.ended_at, CASE WHEN \(removedAt) >= stored.started_at THEN \(removedAt) END)
                """,
            state: """
                activity_state(stored.ended_at, stored.started_at, stored.expires_at, stored.last_observed_at,
                \(removedAt), \(fullStateAt))
                """
        )
        let sql = """
            stored.outcome::text, stored.token_digest, \(answer.sql), now(), stored.expires_at > now(),
            stored.token_claimed_at, stored.previous_claimed_at
            """
        return Columns(sql: sql) { row in
            try MergedActivity(
                outcome: row.next(),
                tokenDigest: row.next(),
                answer: row.next(answer),
                serverTime: row.next(),
                isWithinLifetime: row.next(),
                claimedAt: row.next(),
                previousClaimedAt: row.next()
            )
        }
    }
}

extension ActivityAnswer {
    static func columns(of row: String) -> Columns<ActivityAnswer> {
        let endedAt = "CASE \(row).verdict WHEN 'logged-out' THEN \(row).removed_at ELSE \(row).ended_at END"
        return columns(row, endedAt: endedAt, state: "\(row).state")
    }

    fileprivate static func columns(_ row: String, endedAt: String, state: String) -> Columns<ActivityAnswer> {
        let sql = """
            \(row).activity_id, \(row).end_reason::text, \(endedAt), coalesce(\(row).token_observed_at, \(row).last_observed_at),
            \(row).confirmed_at, \(row).expires_at, \(row).revision, \(state)
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
