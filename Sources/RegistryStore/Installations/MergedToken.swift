import Foundation
import PostgresDriver
import RegistryCore

/// The row of an installation's token right after a registration was merged into it, with its verdict.
struct MergedToken {
    /// `activity_outcome` of the schema.
    let outcome: String
    let observedAt: Date
    let confirmedAt: Date?
    let deletedAt: Date?
    /// When its installation logged out.
    let removedAt: Date?
    /// The reason why the row's token is withheld; it is the request's unless the outcome differs.
    let verdict: TokenVerdict?
    /// Only of kinds whose values have one owner.
    let ownerKind: String?
    let serverTime: Date

    /// The columns of a token `r` and of its row `v` in the view of verdicts.
    static let columns = Columns(
        .one("r.outcome"),
        .one("r.observed_at"),
        .one("r.confirmed_at"),
        .one("r.deleted_at"),
        .one("v.removed_at"),
        .raw("v.verdict"),
        .one("v.owner_kind"),
        .one("r.touched_at"),
        as: MergedToken.init
    )
}
