import Foundation
import PostgresDriver
import RegistryCore

/// An activity's row right after a request was merged into it, as the statement returned it.
struct MergedActivity {
    let activityID: ActivityID
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

    /// The columns that ``init(_:)`` reads, in its order, of the row called `stored`.
    static let columns = """
        stored.activity_id, stored.outcome::text, stored.token_digest,
        \(answer), now(), stored.expires_at > now(),
        stored.token_claimed_at, stored.previous_claimed_at
        """

    /// The columns that ``ActivityAnswer`` is made of. The row that a statement returns stands in no view yet, so its installation is
    /// asked for what the view would say.
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

    init(_ row: PostgresRow) throws {
        activityID = try row.column(0, as: ActivityID.self)
        outcome = try row.column(1, as: String.self)
        tokenDigest = try row.column(2, as: [UInt8]?.self)
        answer = try ActivityAnswer(id: activityID, row, from: 3)
        serverTime = try row.column(10, as: Date.self)
        isWithinLifetime = try row.column(11, as: Bool.self)
        claimedAt = try row.column(12, as: Date?.self)
        previousClaimedAt = try row.column(13, as: Date?.self)
    }
}

extension ActivityAnswer {
    /// The columns that ``init(id:_:from:)`` reads, in its order, of a row of the view `activity_verdicts`.
    static func columns(of row: String) -> String {
        let endedAt = "CASE \(row).verdict WHEN 'logged-out' THEN \(row).removed_at ELSE \(row).ended_at END"
        return columns(row, endedAt: endedAt, state: "\(row).state")
    }

    fileprivate static func columns(_ row: String, endedAt: String, state: String) -> String {
        """
        \(row).end_reason::text, \(endedAt), coalesce(\(row).token_observed_at, \(row).last_observed_at),
        \(row).confirmed_at, \(row).expires_at, \(row).revision, \(state)
        """
    }

    /// Reads the columns of ``columns(of:)`` from `first` on.
    ///
    /// - Throws: ``UnreadableRow`` when the database holds what the schema does not allow.
    init(id: ActivityID, _ row: PostgresRow, from first: Int) throws {
        guard let state = try ActivityState(rawValue: row.column(first + 6, as: String.self)) else {
            throw UnreadableRow(detail: "an activity's state is not one of ours")
        }
        self.init(activityID: id, state: state, revision: try row.column(first + 5, as: Int.self))
        reason = try row.column(first, as: String?.self) ?? ([.expired, .ended].contains(state) ? state.rawValue : nil)
        endedAt = try row.column(first + 1, as: Date?.self)
        observedAt = try row.column(first + 2, as: Date?.self)
        confirmedAt = try row.column(first + 3, as: Date?.self)
        expiresAt = try row.column(first + 4, as: Date?.self)
    }
}
