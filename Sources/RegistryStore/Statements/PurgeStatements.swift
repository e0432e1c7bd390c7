import Foundation
import PostgresDriver
import RegistryCore

/// The statements that purge a page of stale tokens of one kind, in one transaction.
///
/// A purge is about what was claimed so far: whatever a client observes later brings a token back. An activity's value
/// counts as dead as of its last claim, a start or device token as deleted as of its last observation; so a purge says
/// nothing of another holder of the same value who claimed it later.
struct PurgeStatements {
    let stale: StaleStatements
    let who: String

    private var scope: Scope { stale.scope }
    private var isOfActivities: Bool { stale.kind.holder == .activity }

    private func inScope(_ row: String) -> SQL {
        """
        \(unescaped: row).app_number = \(scope.app.number) AND \(unescaped: row).environment = \(scope.environment.rawValue)::apns_environment
        """
    }

    /// Locks what the others change, in the order of all writes.
    func locks(_ numbers: [Int64]) -> [SQL] {
        isOfActivities
            ? [
                """
                SELECT FROM activities a WHERE \(sql: inScope("a")) AND a.activity_number = ANY(\(numbers))
                ORDER BY a.activity_id FOR UPDATE
                """,
                """
                SELECT FROM token_values t WHERE \(sql: inScope("t")) AND t.token_digest = ANY(ARRAY(
                    SELECT a.token_digest FROM activities a
                    WHERE \(sql: inScope("a")) AND a.activity_number = ANY(\(numbers))
                ))
                ORDER BY t.token_digest FOR UPDATE
                """,
            ]
            : [
                """
                SELECT FROM installations i WHERE \(sql: inScope("i")) AND i.installation_hash = ANY(ARRAY(
                    SELECT r.installation_hash FROM \(unescaped: stale.table) r
                    WHERE \(sql: inScope("r")) AND r.token_number = ANY(\(numbers))
                ))
                ORDER BY i.installation_hash FOR UPDATE
                """
            ]
    }

    /// Purges what is stale still; the last statement changes a row for each.
    func purge(_ numbers: [Int64]) -> [SQL] { isOfActivities ? purgeActivities(numbers) : purgeTokens(numbers) }

    private func purgeActivities(_ numbers: [Int64]) -> [SQL] {
        let isIt: SQL = "\(sql: inScope("a")) AND a.activity_number = ANY(\(numbers))"
        return [
            """
            UPDATE token_values t SET dead_at = greatest(t.dead_at, a.token_claimed_at),
                purged_at = greatest(t.dead_at, a.token_claimed_at), effect = 'none'
            FROM activities a
            WHERE \(sql: isIt) AND t.app_number = a.app_number AND t.environment = a.environment
                AND t.token_digest = a.token_digest AND t.activity_id = a.activity_id
            """,
            RetirementStatements.insertion(
                """
                SELECT a.app_number, a.environment, a.activity_id, a.token_digest, a.token_observed_at,
                    'purged'::retirement_reason
                FROM activities a WHERE \(sql: isIt)
                """
            ),
            EventStatements.insertion(
                """
                SELECT 'purged' AS type, \(unescaped: EventStatements.columns(of: "a")) FROM activities a
                WHERE \(sql: isIt)
                """,
                by: who,
                in: scope
            ),
            """
            UPDATE activities a SET token_is_doubted = true, revision = a.revision + 1, touched_at = clock_timestamp()
            WHERE \(sql: isIt)
            """,
        ]
    }

    private func purgeTokens(_ numbers: [Int64]) -> [SQL] {
        let isIt: SQL = "\(sql: inScope("r")) AND r.token_number = ANY(\(numbers))"
        return [
            EventStatements.insertion(
                """
                SELECT 'purged' AS type,
                    \(unescaped: EventStatements.columns(ofInstallation: "i", digest: "r.token_digest"))
                FROM \(unescaped: stale.table) r \(unescaped: TokenSlotRows.joinInstallation(of: "r"))
                WHERE \(sql: isIt)
                """,
                by: who,
                in: scope
            ),
            """
            UPDATE \(unescaped: stale.table) r SET token = NULL, deleted_at = greatest(r.deleted_at, r.observed_at),
                purged_at = greatest(r.deleted_at, r.observed_at), outcome = 'ended', touched_at = clock_timestamp()
            WHERE \(sql: isIt)
            """,
        ]
    }
}
