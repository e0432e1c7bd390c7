import Foundation
import PostgresDriver
import RegistryCore

/// The statements that purge a page of stale tokens of one kind, in one transaction.
///
/// A purge concerns claims so far: a later observation by a client brings a token back. An activity's value counts as
/// dead as of its last claim, an installation's token as deleted as of its last observation; so a purge does not affect
/// another holder of an equal value with a later claim.
struct PurgeStatements {
    let stale: StaleStatements
    let who: UTF8Text

    private var scope: Scope { stale.scope }
    private var isOfActivities: Bool { stale.kind.holder == .activity }

    /// Each number is a lookup of its own.
    private func isAmong(_ numbers: [Int64], _ row: String) -> SQL {
        """
        \(sql: scope.contains(row)) AND \(unescaped: row).activity_id = ANY(ARRAY(
            \(sql: stale.numbered.column("its.activity_id", of: numbers))
        ))
        """
    }

    /// Locks the rows that the others change, in the order of all writes.
    func locks(_ numbers: [Int64]) -> [SQL] {
        isOfActivities
            ? [
                """
                SELECT FROM activities a WHERE \(sql: isAmong(numbers, "a")) ORDER BY a.activity_id FOR UPDATE
                """,
                """
                SELECT FROM token_values t WHERE \(sql: scope.contains("t")) AND t.token_digest = ANY(ARRAY(
                    SELECT a.token_digest FROM activities a WHERE \(sql: isAmong(numbers, "a"))
                ))
                ORDER BY t.token_digest FOR UPDATE
                """,
            ]
            : [
                """
                SELECT FROM (
                    SELECT DISTINCT held.it AS hash
                    FROM (\(sql: stale.numbered.column("its.installation_hash", of: numbers))) AS held
                    ORDER BY 1
                ) AS named CROSS JOIN LATERAL (
                    SELECT FROM installations i WHERE \(sql: scope.contains("i")) AND i.installation_hash = named.hash
                    LIMIT 1 FOR UPDATE
                ) AS locked
                """
            ]
    }

    /// Purges the tokens that are still stale; the last statement changes a row for each.
    func purge(_ numbers: [Int64]) -> [SQL] { isOfActivities ? purgeActivities(numbers) : purgeTokens(numbers) }

    private func purgeActivities(_ numbers: [Int64]) -> [SQL] {
        let isIt = isAmong(numbers, "a")
        return purgeOthers(isIt) + [
            """
            UPDATE token_values t SET dead_at = greatest(t.dead_at, its.token_claimed_at),
                purged_at = greatest(t.dead_at, its.token_claimed_at)
            FROM (
                SELECT v.ctid AS place, a.token_claimed_at FROM activities a CROSS JOIN LATERAL (
                    SELECT held.ctid, held.activity_id FROM token_values held
                    WHERE \(sql: scope.contains("held")) AND held.token_digest = a.token_digest LIMIT 1
                ) AS v
                WHERE \(sql: isIt) AND v.activity_id = a.activity_id OFFSET 0
            ) AS its
            WHERE t.ctid = its.place AND \(sql: RowPlaces.isOf(scope, "t"))
            """,
            EventStatements.insertion(
                """
                SELECT 'purged' AS type, \(unescaped: EventStatements.columns(of: "a")) FROM activities a
                WHERE \(sql: isIt)
                """,
                by: who,
                in: scope
            ),
            """
            UPDATE activities a SET withheld = CASE WHEN a.withheld IN ('taken-over', 'kind-conflict') THEN a.withheld ELSE 'purged' END,
                revision = a.revision + 1, touched_at = statement_timestamp()
            WHERE \(sql: isIt) AND a.token_digest IS NOT NULL
            """,
        ]
    }

    /// Installations' tokens with an equal value, claimed no later, are withheld from now on, too. Runs before the value is dead.
    private func purgeOthers(_ isIt: SQL) -> [SQL] {
        let others: SQL = """
            activities a CROSS JOIN LATERAL (
                SELECT * FROM token_values held
                WHERE \(sql: scope.contains("held")) AND held.token_digest = a.token_digest AND held.activity_id = a.activity_id
                LIMIT 1
            ) AS v CROSS JOIN LATERAL (
                (SELECT its.*, its.ctid AS place FROM installation_tokens its
                WHERE \(sql: scope.contains("its")) AND its.installation_hash = v.installation_hash
                    AND its.kind = v.installation_kind AND its.token_digest = v.token_digest LIMIT 1)
                UNION ALL
                (SELECT its.*, its.ctid AS place FROM installation_tokens its
                WHERE \(sql: scope.contains("its")) AND NOT its.has_one_owner AND its.token_digest = v.token_digest
                    AND v.installation_hash IS NULL LIMIT \(SlotHolders.most))
            ) AS r \(sql: installation)
            WHERE \(sql: isIt) AND r.token IS NOT NULL AND r.claimed_at <= greatest(v.dead_at, a.token_claimed_at)
            """
        return [
            EventStatements.insertion(
                """
                SELECT 'purged' AS type, \(unescaped: EventStatements.columns(ofToken: "r", of: "i"))
                FROM \(sql: others) AND r.withheld IS NULL
                """,
                by: who,
                in: scope
            ),
            """
            UPDATE installation_tokens s SET withheld = 'purged'
            WHERE \(sql: RowPlaces.isOf(scope, "s")) AND s.ctid = ANY(ARRAY(SELECT r.place FROM \(sql: others)))
            """,
        ]
    }

    /// Joins the installation of token `r` as `i` with a lookup for each row: joined whole, by a plan from a time with few rows,
    /// all installations of the app would be read.
    private var installation: SQL {
        """
        CROSS JOIN LATERAL (SELECT * FROM installations its WHERE \(sql: scope.contains("its"))
        AND its.installation_hash = r.installation_hash LIMIT 1) AS i
        """
    }

    private func purgeTokens(_ numbers: [Int64]) -> [SQL] {
        let isIt: SQL = """
            \(sql: RowPlaces.isOf(scope, "r")) AND r.ctid = ANY(ARRAY(
                \(sql: stale.numbered.column("its.ctid", of: numbers))
            ))
            """
        return [
            EventStatements.insertion(
                """
                SELECT 'purged' AS type,
                    \(unescaped: EventStatements.columns(ofToken: "r", of: "i"))
                FROM installation_tokens r \(sql: installation)
                WHERE \(sql: isIt)
                """,
                by: who,
                in: scope
            ),
            """
            UPDATE installation_tokens r SET token = NULL, withheld = NULL, deleted_at = greatest(r.deleted_at, r.observed_at),
                purged_at = greatest(r.deleted_at, r.observed_at), touched_at = statement_timestamp()
            WHERE \(sql: isIt)
            """,
        ]
    }
}
