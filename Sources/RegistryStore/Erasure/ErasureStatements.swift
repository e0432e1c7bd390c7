import Foundation
import PostgresDriver
import RegistryCore

package enum ErasureSubject: Sendable, Hashable {
    /// All activities and installations that bear the alias, and its channel.
    case alias(Alias)
    case installation(InstallationHash)
    case subject(UTF8Text)
}

struct ErasureStatements {
    let subject: ErasureSubject
    let scope: Scope

    // MARK: What was erased

    /// The entry in `erasures` for the name that an SQL expression gives, hidden by the app's salt. The row of the app
    /// is called `app`.
    static func digest(_ expression: String) -> String {
        "sha256(uuid_send(app.erasure_salt) || convert_to(\(expression), 'UTF8'))"
    }

    private var name: UTF8Text {
        switch subject {
        case .alias(let alias): Self.name(of: alias)
        case .installation(let hash): Self.name(of: hash)
        case .subject(let subject): Self.name(ofSubject: subject)
        }
    }

    static func name(ofSubject subject: UTF8Text) -> UTF8Text { "subject:\(subject)" }
    static func name(of alias: Alias) -> UTF8Text { "alias:\(alias.kind):\(alias.value)" }
    static func name(of installation: InstallationHash) -> UTF8Text { "installation:\(installation)" }

    var remember: SQL {
        """
        INSERT INTO erasures AS stored (scope_id, erased_digest, erased_at)
        SELECT \(scope.id), \(unescaped: Self.digest("given.name")), clock_timestamp()
        FROM apps app CROSS JOIN (SELECT \(name)::text AS name) AS given
        WHERE app.app_id = \(scope.app.id)
        ON CONFLICT (scope_id, erased_digest) DO UPDATE SET erased_at = excluded.erased_at
        """
    }

    /// The number of writing transactions that began before the erasure: they may not have seen it.
    ///
    /// A statement locks its tables before it takes its snapshot, so a transaction with an older snapshot has the lock
    /// by now.
    static func writers(before time: Date) -> SQL {
        """
        SELECT count(*) FROM pg_locks l JOIN pg_stat_activity s ON s.pid = l.pid
        WHERE l.locktype = 'relation' AND l.pid <> pg_backend_pid()
            -- A unit of work that holds row locks has looked for erasures, and may not have written yet.
            AND (l.mode = 'RowExclusiveLock'
                OR (l.mode = 'RowShareLock' AND l.relation IN ('activities'::regclass, 'installations'::regclass)))
            AND l.relation = ANY(ARRAY['activities', 'installations', 'alias_identities', 'token_values', 'channels', 'channel_quotas', 'start_leases', 'quarantine_guards', 'counts']::regclass[]::oid[])
            AND s.xact_start <= \(time)
        """
    }

    // MARK: Activities

    /// Finds and locks the next activities to erase; erased ones are not found again.
    func activities(limit: Int) -> SQL {
        """
        SELECT a.activity_id FROM activities a
        WHERE \(sql: scope.contains("a")) AND a.activity_id = ANY(ARRAY(\(sql: activityCandidates) LIMIT \(limit)))
        ORDER BY a.activity_id FOR UPDATE
        """
    }

    /// The ids of the activities to erase, by the index for the subject.
    private var activityCandidates: SQL {
        switch subject {
        case .alias(let alias):
            """
            SELECT bearer.activity_id FROM activity_aliases al CROSS JOIN LATERAL (
                SELECT b.activity_id FROM activities b
                WHERE \(sql: scope.contains("b")) AND b.activity_key = al.activity_key
                    AND b.activity_key > 0 LIMIT 1
            ) AS bearer
            WHERE \(sql: scope.contains("al")) AND al.kind = \(alias.kind) AND al.value = \(alias.value)
            """
        case .installation(let hash):
            "SELECT c.activity_id FROM activities c WHERE \(sql: scope.contains("c")) AND c.installation_hash = \(hash.bytes)"
        case .subject(let subject):
            "SELECT c.activity_id FROM activities c WHERE \(sql: scope.contains("c")) AND c.subject = \(subject)"
        }
    }

    /// The statements that accompany the deletion of activities: tombstones without names stay, and identities go.
    func forget(_ ids: [ActivityID]) -> [SQL] { [tombstones(of: ids), identities(of: ids)] }

    /// The statements for activities that one transaction cannot finish: from its commit on, their tokens are withheld
    /// and requests about them are refused. The rows stay because the rest is found by them.
    func withhold(_ ids: [ActivityID]) -> [SQL] {
        [
            tombstones(of: ids),
            """
            UPDATE activities a SET token = NULL, revision = a.revision + 1
            WHERE \(sql: scope.contains("a")) AND a.activity_id = ANY(\(ids)) AND a.token IS NOT NULL
            """,
        ]
    }

    /// Redacts a page of the activities' events. The result is the size of the page.
    func redactEvents(of ids: [ActivityID]) -> SQL {
        redactPage(
            of: """
                \(sql: EventStatements.activityHash("o.activity_id")) = ANY(ARRAY(
                    SELECT \(sql: EventStatements.activityHash("q.id")) FROM unnest(\(ids)) AS q (id)
                )) AND o.activity_id = ANY(\(ids))
                """,
            limit: Self.eventPageSize
        )
    }

    private func tombstones(of ids: [ActivityID]) -> SQL {
        tombstones("'activity:' || q.id", of: "unnest(\(ids)) AS q (id)")
    }

    /// Leaves tombstones for names: earlier observations do not come back.
    ///
    /// - Parameters:
    ///   - name: an expression, in the format of ``digest(_:)``.
    ///   - rows: the rows of the expression.
    private func tombstones(_ name: String, of rows: SQL) -> SQL {
        """
        INSERT INTO erasures AS stored (scope_id, erased_digest, erased_at)
        SELECT \(scope.id), \(unescaped: Self.digest(name)), clock_timestamp()
        FROM apps app CROSS JOIN \(sql: rows)
        WHERE app.app_id = \(scope.app.id)
        ORDER BY 2
        ON CONFLICT (scope_id, erased_digest) DO UPDATE SET erased_at = excluded.erased_at
        """
    }

    /// Deletes the identities of activities, which name an alias and an owner.
    private func identities(of ids: [ActivityID]) -> SQL {
        """
        DELETE FROM alias_identities d WHERE \(sql: RowPlaces.isOf(scope, "d")) AND d.ctid = ANY(ARRAY(
            SELECT found.row FROM activities a
            CROSS JOIN LATERAL jsonb_array_elements_text(a.aliases -> \(Alias.liveActivityKind)) AS named
            CROSS JOIN unnest(ARRAY['installation:' || encode(a.installation_hash, 'hex'), 'subject:' || a.subject, 'app'])
                AS owners (owner)
            CROSS JOIN LATERAL (
                SELECT r.ctid AS row, r.activity_id FROM alias_identities r
                WHERE \(sql: scope.contains("r")) AND r.alias = named.value AND r.owner = owners.owner OFFSET 0
            ) AS found
            WHERE \(sql: scope.contains("a")) AND a.activity_id = ANY(\(ids)) AND found.activity_id = a.activity_id
        ))
        """
    }

    // MARK: Installations

    /// Finds and locks the next installations to erase.
    func installations(limit: Int) -> SQL {
        """
        SELECT i.installation_hash
        FROM (
            SELECT found.hash FROM (\(sql: installationCandidates) LIMIT \(limit)) AS found (hash) ORDER BY found.hash
        ) AS named CROSS JOIN LATERAL (
            SELECT its.installation_hash FROM installations its
            WHERE \(sql: scope.contains("its")) AND its.installation_hash = named.hash LIMIT 1 FOR UPDATE
        ) AS i
        """
    }

    private var installationCandidates: SQL {
        switch subject {
        case .alias(let alias):
            """
            SELECT al.installation_hash FROM installation_aliases al
            WHERE \(sql: scope.contains("al")) AND al.kind = \(alias.kind) AND al.value = \(alias.value)
            """
        case .installation(let hash): "SELECT \(hash.bytes)::bytea"
        case .subject(let subject):
            "SELECT c.installation_hash FROM installations c WHERE \(sql: scope.contains("c")) AND c.subject = \(subject)"
        }
    }

    /// Leaves tombstones for installations, and deletes a page of their data. The installations stay until no data is
    /// left, which is found by them; from the first page on, their tokens are withheld.
    ///
    /// After the tombstones the results are: the number of values of the page, and of deleted or released values; the
    /// tokens; the leases; the number of redacted events.
    func delete(installations hashes: [[UInt8]]) -> [SQL] {
        let names: SQL = "unnest(\(hashes)) AS q (installation_hash)"
        let tables: [SQL] = ["installation_tokens", "start_leases"].map { table in
            """
            DELETE FROM \(unescaped: table) d WHERE \(sql: RowPlaces.isOf(scope, "d")) AND d.ctid = ANY(ARRAY(
                \(sql: RowPlaces.rows(of: hashes, in: table, "its.ctid", scope)) LIMIT \(SweepStatements.tokenPageSize)
            ))
            """
        }
        let events = redactPage(of: "o.installation_hash = ANY(\(hashes))", limit: Self.eventPageSize)
        return [
            tombstones("'installation:' || encode(q.installation_hash, 'hex')", of: names), values(of: hashes),
        ] + tables + [events]
    }

    /// Removes installations from a page of the values that they own, and from the values of their tokens.
    ///
    /// A value without another holder is deleted; one without an owner may be another installation's, too. Values claimed by
    /// an activity remain, with APNs's reports.
    private func values(of hashes: [[UInt8]]) -> SQL {
        """
        WITH page AS MATERIALIZED (
            SELECT v.token_digest FROM unnest(\(hashes)) AS named (hash) CROSS JOIN LATERAL (
                SELECT its.token_digest FROM token_values its
                WHERE \(sql: scope.contains("its")) AND its.installation_hash = named.hash
                    AND its.installation_hash > '' LIMIT \(SweepStatements.tokenPageSize)
            ) AS v LIMIT \(SweepStatements.tokenPageSize)
        ), theirs AS MATERIALIZED (
            SELECT t.token_digest, (t.activity_id IS NULL AND (t.installation_hash = ANY(\(hashes)) OR (
                -- One value, not a set that all tokens are read for.
                t.installation_hash IS NULL AND (SELECT true FROM installation_tokens r
                    WHERE \(sql: scope.contains("r")) AND NOT r.has_one_owner AND r.token_digest = t.token_digest
                        AND r.installation_hash <> ALL(\(hashes)) LIMIT 1) IS NULL
            ))) IS TRUE AS is_nobodys
            FROM token_values t WHERE \(sql: scope.contains("t")) AND t.token_digest = ANY(ARRAY(
                SELECT page.token_digest FROM page
                UNION ALL \(sql: RowPlaces.rows(of: hashes, in: "installation_tokens", "its.token_digest", scope))
            )) AND (t.installation_hash = ANY(\(hashes)) OR (t.activity_id IS NULL AND t.installation_hash IS NULL))
            ORDER BY t.token_digest FOR UPDATE
        ), deleted AS (
            DELETE FROM token_values t WHERE \(sql: scope.contains("t"))
                AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE theirs.is_nobodys))
            RETURNING t.token_digest
        ), released AS (
            UPDATE token_values t SET installation_hash = NULL, installation_kind = NULL, installation_observed_at = NULL
            WHERE \(sql: scope.contains("t"))
                AND t.token_digest = ANY(ARRAY(SELECT theirs.token_digest FROM theirs WHERE NOT theirs.is_nobodys))
                AND t.installation_hash = ANY(\(hashes))
            RETURNING t.token_digest
        )
        SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM deleted) + (SELECT count(*) FROM released)
        """
    }

    // MARK: The rest

    /// Deletes the records other than activities, installations and identities.
    var deleteRest: [SQL] {
        guard case .alias(let alias) = subject else { return [] }
        return [
            """
            DELETE FROM channels c
            WHERE \(sql: scope.contains("c")) AND c.kind = \(alias.kind) AND c.value = \(alias.value)
            """
        ]
    }

    /// Finds and locks the next identities to erase, if the subject has any besides those of activities.
    func identities(limit: Int) -> SQL? {
        let condition: SQL
        switch subject {
        case .alias(let alias):
            guard alias.kind == Alias.liveActivityKind else { return nil }
            condition = "i.alias = \(alias.value)"
        case .installation(let hash): condition = isOwned(by: .installation(hash))
        case .subject(let subject): condition = isOwned(by: .subject(subject))
        }
        return """
            SELECT i.alias, i.owner FROM alias_identities i
            WHERE \(sql: scope.contains("i")) AND \(sql: condition) LIMIT \(limit) FOR UPDATE
            """
    }

    private func isOwned(by owner: ActivityOwner) -> SQL { "i.owner = \(owner.stored) AND i.owner <> 'app'" }
}
