import Foundation
import PostgresDriver
import RegistryCore

struct ClaimedToken {
    let digest: [UInt8]
    let owner: ActivityID?
    let deadAt: Date?
    let quarantinedAt: Date?
    /// The value is known as one of a kind that installations hold.
    let isOfInstallation: Bool
    let isPurged: Bool

    static let columns = Columns(
        sql: """
            stored.token_digest, stored.activity_id, stored.dead_at, stored.quarantined_at,
            stored.installation_hash IS NOT NULL, coalesce(stored.purged_at = stored.dead_at, false)
            """
    ) { row in
        try ClaimedToken(
            digest: row.next(),
            owner: row.next(),
            deadAt: row.next(),
            quarantinedAt: row.next(),
            isOfInstallation: row.next(),
            isPurged: row.next()
        )
    }
}
