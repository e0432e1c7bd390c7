import Foundation
import PostgresDriver
import RegistryCore

extension Registry {
    /// Ends an activity, known or not. Ending twice is not an error.
    ///
    /// - Parameter claimant: becomes the owner of the tombstone of an unknown activity.
    /// - Throws: `clockSkew`, `notYours`.
    package func end(
        _ id: ActivityID,
        reason: EndReason,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let statements = EndStatements(scope: scope, who: who, claimant: claimant)
        try await write { session in
            let ended = try session.pipeline(statements.end([id], reason: reason, observedAt: observedAt))
            guard ended[0].isEmpty else { return }
            let refusal = try Refusal(of: observedAt, as: id, session.execute(statements.refusalFacts(about: [id]))[0])
            // An erased activity is over already.
            if case .erased = refusal { return }
            throw refusal.problem
        }
    }

    /// Ends all running activities that bear the alias, a thousand per transaction. Always writes if there was one
    /// (R1).
    ///
    /// - Returns: the number of activities that were running.
    package func endAll(under alias: Alias, in scope: Scope, by who: UTF8Text) async throws -> Int {
        var (ended, hasWritten, next) = (0, false, Int64?.some(0))
        while let key = next {
            let page = try await write { try Self.endPage(under: alias, after: key, in: scope, by: who, $0) }
            ended += page.running
            hasWritten = hasWritten || page.hasWritten
            next = page.last
        }
        if !hasWritten {
            let touch = EndStatements(scope: scope, who: who).touch(under: alias)
            try await write { _ = try $0.execute(touch) }
        }
        return ended
    }

    private static let endPageSize = 1000

    /// - Returns: the number of running activities of the page, whether anything was written, and the key of its
    ///   last activity; nil for the last page.
    private static func endPage(
        under alias: Alias,
        after key: Int64,
        in scope: Scope,
        by who: UTF8Text,
        _ session: borrowing PostgresSession
    ) throws -> (running: Int, hasWritten: Bool, last: Int64?) {
        let statements = EndStatements(scope: scope, who: who)
        let end = ResolveStatements.key(of: alias, after: key, count: endPageSize, in: scope)
        return try session.transaction { transaction in
            let last = try transaction.execute(end).rows.first?.decode(Int64.self)
            let page = statements.end(under: alias, after: key, through: last ?? .max)
            let ended = try transaction.execute(page).decode(EndedActivity.columns)
            _ = try transaction.pipeline(statements.consequences(ended.map(\.activityID)), finishing: true)
            let running = ended.filter { $0.outcome == "ended" && $0.isWithinLifetime }
            return (running.count, !ended.isEmpty, last)
        }
    }
}

struct EndedActivity {
    let activityID: ActivityID
    /// `activity_outcome` of the schema.
    let outcome: String
    /// It had not expired at the request.
    let isWithinLifetime: Bool

    static let columns = Columns(
        .one("stored.activity_id"),
        .one("stored.outcome::text"),
        .one("stored.expires_at > now()"),
        as: EndedActivity.init
    )
}

/// Sent in one round trip and committed as one transaction.
struct EndStatements {
    let scope: Scope
    let who: UTF8Text
    var claimant: Claimant = .any
    /// Marks the rows that these statements end. Random, so that no other request has it.
    let batchNumber = Int64.random(in: .min ... .max)

    /// Ends the activities, known or not; one result of ``EndedActivity/columns`` for each that was not refused.
    func end(_ ids: [ActivityID], reason: EndReason, observedAt: Date?) -> [SQL] {
        let source: SQL = """
            SELECT q.activity_id, coalesce(\(observedAt), clock_timestamp()) AS ended_at FROM unnest(\(ids)) AS q (activity_id)
            WHERE coalesce(\(observedAt) <= now() + interval '5 minutes', true)
            """
        return [merge(source, reason: reason)] + consequences(ids)
    }

    /// Ends the activities that bear the alias and have not ended, of some keys.
    func end(under alias: Alias, after key: Int64, through last: Int64) -> SQL {
        merge(
            """
            SELECT a.activity_id, clock_timestamp() AS ended_at
            FROM activity_aliases al
            CROSS JOIN LATERAL (
                SELECT bearer.activity_id FROM activities bearer
                WHERE \(sql: scope.contains("bearer")) AND bearer.activity_key = al.activity_key
                    AND bearer.activity_key > 0 LIMIT 1
            ) AS a
            WHERE \(sql: scope.contains("al"))
                AND al.kind = \(alias.kind) AND al.value = \(alias.value) AND NOT al.ended
                AND al.activity_key > \(key) AND al.activity_key <= \(last)
            """,
            reason: .ended
        )
    }

    /// Rewrites one of the alias's ended activities: the request that ended them may have failed before a standby had
    /// it.
    func touch(under alias: Alias) -> SQL {
        """
        UPDATE activities a SET touched_at = now()
        WHERE \(sql: scope.contains("a")) AND a.activity_key > 0 AND a.activity_key = (
            SELECT al.activity_key FROM activity_aliases al
            WHERE \(sql: scope.contains("al")) AND al.kind = \(alias.kind) AND al.value = \(alias.value) AND al.ended
            ORDER BY al.activity_key DESC LIMIT 1
        )
        """
    }

    /// The statements that must follow in the same transaction for the activities that ``merge`` ended.
    func consequences(_ ids: [ActivityID]) -> [SQL] {
        [AliasRowStatements.close("\(ids)", in: scope), event(ids)]
    }

    private var isMerged: SQL { "a.batch_number = \(batchNumber)" }

    /// The tombstone is the activity's own row and its state absorbs all others (R4); always writes (R1).
    private func merge(_ ends: SQL, reason: EndReason) -> SQL {
        let insertion = SQL.insertion(
            into: "activities",
            as: "stored",
            """
            scope_id, activity_id, started_at, lifetime, expires_at, ended_at, end_reason, outcome, created_at,
            batch_number, installation_hash, installation_observed_at, subject, subject_observed_at
            """,
            """
            SELECT \(scope.id), e.activity_id, now(), app.activity_lifetime, now() + app.activity_lifetime, e.ended_at,
                \(reason.rawValue)::end_reason, 'ended'::activity_outcome, now(),
                \(batchNumber), \(sql: owner)
            FROM apps app CROSS JOIN (\(sql: ends)) AS e
            WHERE app.app_id = \(scope.app.id) AND NOT \(sql: isErased)
            ORDER BY e.activity_id COLLATE "C"
            """
        )
        return """
            \(sql: insertion)
            ON CONFLICT (scope_id, activity_id) DO UPDATE SET
                token = NULL,
                ended_at = least(stored.ended_at, excluded.ended_at),
                end_reason = CASE WHEN stored.ended_at IS NULL
                    OR (excluded.ended_at, excluded.end_reason) < (stored.ended_at, stored.end_reason)
                    THEN excluded.end_reason ELSE stored.end_reason END,
                outcome = CASE WHEN stored.ended_at IS NULL THEN 'ended'::activity_outcome ELSE 'refused' END,
                revision = stored.revision + CASE WHEN stored.ended_at IS NULL THEN 1 ELSE 0 END,
                \(unescaped: ActivityMerge.firstGiven("installation_hash", "installation_observed_at")),
                \(unescaped: ActivityMerge.firstGiven("subject", "subject_observed_at")),
                touched_at = excluded.touched_at, batch_number = excluded.batch_number
            WHERE \(sql: permits)
            RETURNING \(EndedActivity.columns)
            """
    }

    /// The condition that the claimant may end the activity, with the values of ``owner``.
    private var permits: SQL {
        guard claimant != .any else { return "true" }
        return Ownership.permits("stored", subject: "excluded.subject", installation: "excluded.installation_hash")
    }

    /// The tombstone of an unknown activity stores its owner, with the times, like a registration.
    private var owner: SQL {
        guard claimant != .any else { return "NULL::bytea, NULL::timestamptz, NULL::text, NULL::timestamptz" }
        let (subject, installation) = (claimant.subject, claimant.installation?.bytes)
        return """
            \(installation)::bytea, CASE WHEN \(installation) IS NOT NULL THEN e.ended_at END,
            \(subject)::text, CASE WHEN \(subject) IS NOT NULL THEN e.ended_at END
            """
    }

    /// Why some were not ended; see ``Refusal``.
    func refusalFacts(about ids: [ActivityID]) -> SQL {
        Refusal.facts(
            ofApp: scope.app.id,
            foreign: Ownership.foreign(ids, to: claimant, in: scope),
            erased: """
                ARRAY(SELECT e.activity_id FROM apps app CROSS JOIN unnest(\(ids)) AS e (activity_id)
                    WHERE app.app_id = \(scope.app.id) AND \(sql: isErased))
                """
        )
    }

    /// An erased activity needs no other tombstone, and one by its id would name it.
    private var isErased: SQL {
        let activity: SQL = "\(unescaped: ErasureStatements.digest("'activity:' || e.activity_id"))"
        return ErasureStatements.isErased(
            digests: "ARRAY[\(sql: activity)]",
            activity: activity,
            observedAt: "'infinity'",
            in: scope
        )
    }

    private func event(_ ids: [ActivityID]) -> SQL {
        EventStatements.insertion(
            """
            SELECT 'ended' AS type, \(unescaped: EventStatements.columns(of: "a"))
            FROM activities a
            WHERE \(sql: scope.contains("a"))
                AND a.activity_id = ANY(\(ids)) AND a.outcome = 'ended'
                AND \(sql: isMerged)
            """,
            by: who,
            in: scope
        )
    }
}
