import Foundation
import PostgresDriver
import RegistryCore

/// The row of an installation's token right after a registration was merged into it, with what is said of it.
struct MergedToken {
    /// `activity_outcome` of the schema.
    let outcome: String
    let observedAt: Date
    let confirmedAt: Date?
    let deletedAt: Date?
    /// When its installation logged out.
    let removedAt: Date?
    /// The reason why the row's token is withheld, which is the request's unless the outcome says otherwise.
    let verdict: TokenVerdict?
    /// Of the kinds that have one owner a value: which one owns it.
    let ownerKind: String?
    let serverTime: Date

    /// The columns that ``init(_:)`` reads, in its order, of a token `r` and its row `v` of the view of verdicts.
    static let columns = """
        r.outcome::text, r.observed_at, r.confirmed_at, r.deleted_at, v.removed_at, v.verdict, v.owner_kind, now()
        """

    init(_ row: PostgresRow) throws {
        let word: String?
        (outcome, observedAt, confirmedAt, deletedAt, removedAt, word, ownerKind, serverTime) = try row.decode(
            String.self,
            Date.self,
            Date?.self,
            Date?.self,
            Date?.self,
            String?.self,
            String?.self,
            Date.self
        )
        verdict = try word.map(TokenVerdict.init(stored:))
    }
}
