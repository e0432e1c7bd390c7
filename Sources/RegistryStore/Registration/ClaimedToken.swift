import Foundation
import PostgresDriver
import RegistryCore

/// A token value's row right after a request was merged into it, as the statement returned it.
struct ClaimedToken {
    let digest: [UInt8]
    let owner: ActivityID?
    let deadAt: Date?
    let quarantinedAt: Date?
    /// The value is known as that of a kind that installations hold.
    let isOfInstallation: Bool
    /// It is dead because an admin purged it.
    let isPurged: Bool

    /// The columns of the row called `stored`.
    static let columns = Columns(
        .one("stored.token_digest"),
        .one("stored.activity_id"),
        .one("stored.dead_at"),
        .one("stored.quarantined_at"),
        .one("stored.installation_hash IS NOT NULL"),
        .one("coalesce(stored.purged_at = stored.dead_at, false)"),
        as: ClaimedToken.init
    )
}
