import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

extension Registry {
    /// Deletes a token as observed no later than the time; an unknown one leaves a tombstone.
    ///
    /// - Parameter claimant: a client names this same installation.
    /// - Throws: `clockSkew`, `notYours`, `invalidRequest` for one attributes type more than an installation may have.
    package func deleteToken(
        in slot: TokenSlot,
        of installation: InstallationHash,
        observedAt: Date?,
        in scope: Scope,
        by who: UTF8Text,
        claimant: Claimant = .any
    ) async throws {
        let rows = TokenSlotRows(slot: slot, installation: installation, scope: scope, claimant: claimant)
        let statements = TokenRemovalStatements(rows: rows, who: who).deletion(observedAt: observedAt)
        try await write { session in
            let results = try session.pipeline(statements)
            guard results[0].isEmpty || results[1].isEmpty else { return }
            let refusal = try Refusal(of: observedAt, session.execute(rows.refusalFacts(observedAt: observedAt))[0])
            // An erased token is already gone.
            if case .erased = refusal { return }
            throw rows.problem(of: refusal)
        }
    }

    /// A token that is not in quarantine stays as it is.
    ///
    /// - Throws: `tokenNotFound`.
    package func releaseToken(
        in slot: TokenSlot,
        of installation: InstallationHash,
        in scope: Scope,
        by who: UTF8Text
    ) async throws {
        let rows = TokenSlotRows(slot: slot, installation: installation, scope: scope)
        let statements = TokenRemovalStatements(rows: rows, who: who).release
        try await write { session in
            guard try session.pipeline(statements)[1].isEmpty else { return }
            throw Problem(.tokenNotFound, "The installation has no such token.")
        }
    }
}

struct TokenRemovalStatements {
    let rows: TokenSlotRows
    let who: UTF8Text

    private var slot: TokenSlot { rows.slot }
    private var scope: Scope { rows.scope }

    /// Leaves a tombstone if nothing is known.
    ///
    /// - Parameter observedAt: nil deletes everything, also observations of a fast clock.
    func deletion(observedAt: Date?) -> [SQL] {
        [rows.statements.lock(observedAt: observedAt), merge(observedAt), deletionEvent]
    }

    private func merge(_ observedAt: Date?) -> SQL {
        let time = observedAt == nil ? "greatest(excluded.deleted_at, stored.observed_at)" : "excluded.deleted_at"
        let insertion = SQL.insertion(
            into: "installation_tokens",
            as: "stored",
            "scope_id, installation_hash, kind, attributes_type, has_one_owner, deleted_at, outcome",
            """
            SELECT \(scope.id), \(rows.installation.bytes), \(slot.kind.name), \(slot.typeName), \(slot.kind.hasOneOwner),
                coalesce(\(observedAt), clock_timestamp()), 'refused'::activity_outcome
            FROM apps app WHERE app.app_id = \(scope.app.id) AND \(sql: rows.isLocked) AND \(sql: rows.hasRoom)
            """
        )
        return """
            \(sql: insertion)
            ON CONFLICT (scope_id, installation_hash, kind, attributes_type) DO UPDATE SET
                deleted_at = greatest(stored.deleted_at, \(unescaped: time)),
                token = CASE WHEN stored.observed_at > \(unescaped: time) THEN stored.token END,
                outcome = CASE WHEN stored.token IS NOT NULL AND stored.observed_at <= \(unescaped: time)
                    THEN 'ended'::activity_outcome ELSE 'refused' END,
                previous_claimed_at = NULL, touched_at = excluded.touched_at
            RETURNING 1
            """
    }

    private var deletionEvent: SQL {
        EventStatements.insertion(
            """
            SELECT 'deleted' AS type,
                \(unescaped: EventStatements.columns(ofToken: "r", of: "i"))
            FROM installation_tokens r \(sql: TokenSlotRows.joinInstallation(of: "r", in: scope))
            WHERE \(sql: rows.matches("r")) AND r.outcome = 'ended' AND \(sql: rows.isLocked)
            """,
            by: who,
            in: scope
        )
    }

    /// Releases the token's value for all holders; the second result has one row if there is a token.
    var release: [SQL] {
        var statements = QuarantineStatements(scope: scope, who: who).release(rows)
        statements.insert(
            """
            UPDATE installation_tokens r SET touched_at = statement_timestamp()
            WHERE \(sql: rows.matches("r")) AND r.token IS NOT NULL RETURNING 1
            """,
            // While the guards, the first statement's, are locked, no report quarantines it and no other call releases
            // it.
            at: 1
        )
        return statements
    }
}
