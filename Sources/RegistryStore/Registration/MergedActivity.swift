import Foundation
import PostgresDriver
import RegistryCore

/// An activity's row right after a request was merged into it, as the statement returned it.
struct MergedActivity {
    /// `activity_outcome` of the schema.
    let outcome: String
    let tokenDigest: [UInt8]?
    let answer: ActivityAnswer
    let serverTime: Date
    /// It had not expired when the request came.
    let isWithinLifetime: Bool
    /// The client's claim on the current token, now and before the request where that brought the same token.
    let claimedAt: Date?
    let previousClaimedAt: Date?

    var activityID: ActivityID { answer.activityID }

    /// The columns of the row called `stored`.
    static let columns = Columns(
        .one("stored.outcome::text"),
        .one("stored.token_digest"),
        answer,
        .one("now()"),
        .one("stored.expires_at > now()"),
        .one("stored.token_claimed_at"),
        .one("stored.previous_claimed_at"),
        as: MergedActivity.init
    )

    /// The row that a statement returns stands in no view yet, so its installation is asked for what the view would say.
    private static let answer = ActivityAnswer.columns(
        "stored",
        endedAt: """
            coalesce(stored.ended_at, (SELECT i.removed_at FROM \(installation) AND i.removed_at >= stored.started_at))
            """,
        state: """
            (SELECT activity_state(stored.ended_at, stored.started_at, stored.expires_at, stored.last_observed_at,
            i.removed_at, i.full_state_at) FROM (SELECT) AS one LEFT JOIN LATERAL (SELECT * FROM \(installation) LIMIT 1) AS i
            ON true)
            """
    )

    private static let installation = """
        installations i WHERE i.app_number = stored.app_number AND i.environment = stored.environment
        AND i.installation_hash = stored.installation_hash
        """
}

extension ActivityAnswer {
    /// The columns of a row of the view `activity_verdicts`.
    static func columns(of row: String) -> Columns<ActivityAnswer> {
        let endedAt = "CASE \(row).verdict WHEN 'logged-out' THEN \(row).removed_at ELSE \(row).ended_at END"
        return columns(row, endedAt: endedAt, state: "\(row).state")
    }

    fileprivate static func columns(_ row: String, endedAt: String, state: String) -> Columns<ActivityAnswer> {
        Columns(
            .one("\(row).activity_id"),
            .one("\(row).end_reason::text"),
            .one(endedAt),
            .one("coalesce(\(row).token_observed_at, \(row).last_observed_at)"),
            .one("\(row).confirmed_at"),
            .one("\(row).expires_at"),
            .one("\(row).revision"),
            .one(state),
            as: ActivityAnswer.init(stored:endReason:endedAt:observedAt:confirmedAt:expiresAt:revision:state:)
        )
    }

    /// - Throws: ``UnreadableRow`` when the database holds what the schema does not allow.
    private init(
        stored id: ActivityID,
        endReason: String?,
        endedAt: Date?,
        observedAt: Date?,
        confirmedAt: Date?,
        expiresAt: Date?,
        revision: Int,
        state: String
    ) throws {
        guard let state = ActivityState(rawValue: state) else {
            throw UnreadableRow(detail: "an activity's state is not one of ours")
        }
        self.init(activityID: id, state: state, revision: revision)
        reason = endReason ?? ([.expired, .ended].contains(state) ? state.rawValue : nil)
        self.endedAt = endedAt
        self.observedAt = observedAt
        self.confirmedAt = confirmedAt
        self.expiresAt = expiresAt
    }
}
