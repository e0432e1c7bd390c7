import Foundation
import PostgresDriver
import RegistryCore

/// The row of a start or device token right after a registration was merged into it, with what the value's row says.
struct MergedToken {
    /// `activity_outcome` of the schema.
    let outcome: String
    let observedAt: Date
    let claimedAt: Date
    let confirmedAt: Date?
    let deletedAt: Date?
    /// When its installation logged out.
    let removedAt: Date?
    let deadAt: Date?
    let quarantinedAt: Date?
    /// Of the kinds that installations have one token of: which one owns the value, and whether it is another's.
    let ownerKind: String?
    let isOfAnother: Bool?
    let serverTime: Date

    /// What ``init(_:)`` reads, in its order, of a token `r`, its installation `i` and the request's value `t`.
    static let columns = """
        r.outcome::text, r.observed_at, r.claimed_at, r.confirmed_at, r.deleted_at, i.removed_at, t.dead_at, \
        t.quarantined_at, t.installation_kind, t.installation_hash <> r.installation_hash, now()
        """

    init(_ row: PostgresRow) throws {
        (
            outcome, observedAt, claimedAt, confirmedAt, deletedAt, removedAt, deadAt, quarantinedAt, ownerKind,
            isOfAnother, serverTime
        ) = try row.decode(
            String.self,
            Date.self,
            Date.self,
            Date?.self,
            Date?.self,
            Date?.self,
            Date?.self,
            Date?.self,
            String?.self,
            Bool?.self,
            Date.self
        )
    }
}
