import Foundation
import PostgresDriver
import RegistryCore

/// An activity's row right after a request was merged into it, as the statement returned it.
struct MergedActivity {
    let activityID: String
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

    /// What ``init(_:)`` reads, in its order, of the row called `stored`.
    static let columns = """
        stored.activity_id, stored.outcome::text, stored.token_digest, \
        \(stateColumns("stored")), now(), stored.expires_at > now(), \
        stored.token_claimed_at, stored.previous_claimed_at
        """

    /// What ``ActivityAnswer`` is made of, of the row called `row`. One that had started when its installation logged
    /// out has ended, also when it became known later.
    static func stateColumns(_ row: String) -> String {
        """
        \(row).end_reason::text, coalesce(\(row).ended_at, (SELECT i.removed_at FROM installations i \
        WHERE i.app_number = \(row).app_number AND i.environment = \(row).environment \
        AND i.installation_hash = \(row).installation_hash AND i.removed_at >= \(row).started_at)), coalesce(\(row).token_observed_at, \(row).last_observed_at), \
        \(row).confirmed_at, \(row).expires_at, \(row).revision, \
        CASE WHEN \(row).ended_at IS NOT NULL THEN 'ended' WHEN \(row).expires_at <= now() THEN 'expired' \
        ELSE coalesce((SELECT CASE WHEN i.removed_at >= \(row).started_at THEN 'ended' \
        WHEN i.full_state_at > \(row).last_observed_at THEN 'dismissed' END \
        FROM installations i WHERE i.app_number = \(row).app_number \
        AND i.environment = \(row).environment AND i.installation_hash = \(row).installation_hash), 'active') END
        """
    }

    init(_ row: PostgresRow) throws {
        activityID = try row.column(0, as: String.self)
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
    /// - Throws: ``UnreadableRow`` when the database holds what the schema does not allow.
    ///
    /// Reads the columns of ``MergedActivity/stateColumns(_:)`` from `first` on.
    init(id: String, _ row: PostgresRow, from first: Int) throws {
        let state = try ActivityState(rawValue: row.column(first + 6, as: String.self))
        guard let activityID = try? ActivityID(id), let state else {
            throw UnreadableRow(detail: "an activity's id or state is not one of ours")
        }
        self.init(activityID: activityID, state: state, revision: try row.column(first + 5, as: Int.self))
        reason = try row.column(first, as: String?.self) ?? ([.expired, .ended].contains(state) ? state.rawValue : nil)
        endedAt = try row.column(first + 1, as: Date?.self)
        observedAt = try row.column(first + 2, as: Date?.self)
        confirmedAt = try row.column(first + 3, as: Date?.self)
        expiresAt = try row.column(first + 4, as: Date?.self)
    }
}
