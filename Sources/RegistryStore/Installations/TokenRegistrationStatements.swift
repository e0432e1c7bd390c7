import Foundation
import PostgresDriver
import RegistryCore

/// Sent in one round trip and committed as one transaction.
///
/// They lock the installation, the activity with the value, the token's row, the value's: the order of all writes.
struct TokenRegistrationStatements {
    let registration: TokenRegistration
    let rows: TokenSlotRows
    let who: UTF8Text

    private var slot: TokenSlot { rows.slot }
    private var scope: Scope { rows.scope }
    private var token: [UInt8] { registration.token.bytes }

    var all: [SQL] {
        let lock = rows.statements.lock(observedAt: registration.observedAt)
        guard slot.kind.hasOneOwner else { return [lock, merge, noteValue, reactivation, event] }
        return [lock, holderLock, merge, ownership, reactivation, event, flagHolders]
    }

    var reactivationIndex: Int { slot.kind.hasOneOwner ? 4 : 3 }

    // MARK: The merge

    /// R3: without `observedAt` the current token again claims nothing new, and any other counts as observed now, one
    /// that was replaced before, too. The installation's lock makes "now" the order of receipt.
    private var timedRequest: SQL {
        """
        SELECT clock.received_at, i.removed_at, CASE WHEN \(registration.observedAt) IS NOT NULL
                THEN \(registration.observedAt)
            WHEN known.token_digest = sha256(\(token)) AND known.token IS NOT NULL THEN known.observed_at
            ELSE clock.received_at END AS observed_at,
            \(registration.observedAt) IS NULL
                AND \(sql: endsQuarantine) AS ends_quarantine
        FROM installations i
        CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE i.scope_id IS NOT NULL) AS clock
        LEFT JOIN installation_tokens known ON \(sql: rows.matches("known"))
        WHERE \(sql: rows.isOfInstallation("i"))
        """
    }

    /// The current token of the row `known`, confirmed again without `observedAt`, leaves its quarantine. It does not bring a dead
    /// token back: it may have been sent before APNs's answer.
    private var endsQuarantine: SQL {
        """
        EXISTS (SELECT FROM token_values held WHERE \(sql: scope.contains("held"))
        AND held.token_digest = known.token_digest
        AND held.quarantined_at >= known.claimed_at AND coalesce(held.dead_at < known.claimed_at, true))
        """
    }

    /// One upsert; always writes, so that a repeated request is as durable as the first (R1).
    private var merge: SQL {
        let insertion = SQL.insertion(
            into: "installation_tokens",
            as: "stored",
            """
            scope_id, installation_hash, kind, attributes_type, has_one_owner, token, token_digest,
            observed_at, claimed_at, confirmed_at, outcome, installation_removed_at
            """,
            """
            SELECT \(scope.id), \(rows.installation.bytes), \(slot.kind.name), \(slot.typeName), \(slot.kind.hasOneOwner),
                CASE WHEN r.observed_at > coalesce(r.removed_at, '-infinity') THEN \(token) END, sha256(\(token)),
                r.observed_at, CASE WHEN r.ends_quarantine THEN r.received_at ELSE least(r.observed_at, r.received_at) END,
                r.received_at,
                CASE WHEN r.observed_at <= r.removed_at THEN 'refused'::activity_outcome ELSE 'registered' END, r.removed_at
            FROM apps app CROSS JOIN (\(sql: timedRequest)) AS r
            WHERE app.app_id = \(scope.app.id) AND \(sql: rows.isLocked) AND \(sql: rows.hasRoom)
            """
        )
        return """
            \(sql: insertion)
            ON CONFLICT (scope_id, installation_hash, kind, attributes_type)
            DO UPDATE SET \(unescaped: TokenMerge.assignments)
            """
    }

    /// The row called `r` is in the slot, and the request claims the value: one without `observedAt` that did not
    /// become current claims nothing.
    private var claims: SQL {
        """
        \(sql: rows.matches("r")) AND \(sql: rows.isLocked)
        AND (\(registration.observedAt) IS NOT NULL OR r.token_digest = sha256(\(token)))
        """
    }

    private var claimTime: SQL { "coalesce(\(registration.observedAt), r.observed_at)" }

    /// The greatest (time, installation, kind) that ever claimed the value owns it (R7), and stays its owner.
    private var ownership: SQL {
        """
        INSERT INTO token_values AS stored (scope_id, token_digest, installation_kind, installation_hash,
            installation_observed_at, became_installations)
        SELECT r.scope_id, sha256(\(token)), r.kind, r.installation_hash, \(sql: claimTime), true
        FROM installation_tokens r WHERE \(sql: claims)
        ON CONFLICT (scope_id, token_digest) DO UPDATE SET \(unescaped: Self.ownershipAssignments)
        """
    }

    /// A repeatable value has no owner, but feedback must know its kind.
    private var noteValue: SQL {
        """
        INSERT INTO token_values AS stored (scope_id, token_digest, start_observed_at)
        SELECT r.scope_id, sha256(\(token)), \(sql: claimTime)
        FROM installation_tokens r WHERE \(sql: claims)
        ON CONFLICT (scope_id, token_digest) DO UPDATE SET
            start_observed_at = greatest(stored.start_observed_at, excluded.start_observed_at),
            touched_at = excluded.touched_at
        """
    }

    private static let ownershipAssignments = """
        installation_kind = CASE WHEN \(claimsMore) THEN excluded.installation_kind ELSE stored.installation_kind END,
        installation_hash = CASE WHEN \(claimsMore) THEN excluded.installation_hash ELSE stored.installation_hash END,
        installation_observed_at = greatest(stored.installation_observed_at, excluded.installation_observed_at),
        displaced_installation_kind = CASE WHEN \(displaces) THEN stored.installation_kind END,
        displaced_installation_hash = CASE WHEN \(displaces) THEN stored.installation_hash END,
        became_installations = stored.installation_hash IS NULL,
        touched_at = excluded.touched_at
        """

    private static let claimsMore = """
        (stored.installation_hash IS NULL
        OR (excluded.installation_observed_at, excluded.installation_hash, excluded.installation_kind)
        > (stored.installation_observed_at, stored.installation_hash, stored.installation_kind))
        """

    private static let displaces = """
        \(claimsMore) AND (stored.installation_hash, stored.installation_kind)
        <> (excluded.installation_hash, excluded.installation_kind)
        """

    /// The outcome of the request. A token that was dead, quarantined or another installation's before the request's
    /// claim is `reactivated` (R8). The verdict applies to the row before this statement.
    private var reactivation: SQL {
        """
        UPDATE installation_tokens r SET outcome = CASE WHEN r.outcome = 'refreshed' AND (
                (r.previous_claimed_at <= greatest(v.dead_at, v.quarantined_at)
                    AND r.claimed_at > greatest(v.dead_at, v.quarantined_at))
                OR (r.has_one_owner AND v.displaced_installation_hash IS NOT NULL)
            ) THEN 'reactivated' ELSE r.outcome END
        FROM (SELECT * FROM \(sql: scope.view(.installationTokens)) its WHERE \(sql: rows.matches("its")) LIMIT 1) AS v
        WHERE \(sql: rows.matches("r")) AND \(sql: rows.isLocked)
        RETURNING \(MergedToken.columns)
        """
    }

    private var claimed: SQL {
        """
        (SELECT * FROM installation_tokens r WHERE \(sql: claims)) AS r \(sql: joinValue("sha256(\(token))"))
        """
    }

    /// Joins the value with a digest as `t` to row `r`, looked up by itself as ``TokenSlotRows/joinInstallation(of:in:)`` does.
    private func joinValue(_ digest: SQL) -> SQL {
        """
        CROSS JOIN LATERAL (SELECT * FROM token_values v WHERE \(sql: scope.contains("v"))
            AND v.token_digest = \(sql: digest) LIMIT 1) AS t
        """
    }

    /// Joins the last activity to claim value `t` as `a`.
    private var joinClaimant: SQL {
        """
        CROSS JOIN LATERAL (SELECT * FROM activities claimant WHERE \(sql: scope.contains("claimant"))
        AND claimant.activity_id = t.activity_id LIMIT 1) AS a
        """
    }

    /// Activities are locked before values, and the last statement writes the activity with the value.
    private var holderLock: SQL {
        """
        SELECT FROM activities a
        WHERE \(sql: rows.scope.contains("a")) AND a.activity_id = (
            SELECT t.activity_id FROM token_values t
            WHERE \(sql: rows.scope.contains("t"))
                AND t.token_digest = sha256(\(token))
        )
        FOR UPDATE
        """
    }

    /// A value of this kind is never handed out as an activity's.
    private var flagHolders: SQL {
        """
        UPDATE activities a SET withheld = 'kind-conflict'
        WHERE \(sql: rows.scope.contains("a")) AND a.activity_id = (
            SELECT t.activity_id FROM token_values t
            WHERE \(sql: rows.scope.contains("t"))
                AND t.token_digest = sha256(\(token)) AND t.installation_hash IS NOT NULL
        ) AND a.token_digest = sha256(\(token)) AND a.ended_at IS NULL
        """
    }

    /// Activity `a` has value `t`, which it claimed last.
    private static let losesItsToken = "a.token_digest = t.token_digest AND a.ended_at IS NULL"

    /// R11; R8 for a token that was dead when it came; R7 for those that lose the value.
    private var event: SQL {
        let rows: SQL = """
            SELECT r.outcome::text AS type, \(unescaped: Self.columns)
            FROM \(sql: changed)
            UNION ALL
            SELECT 'dropped', \(unescaped: Self.columns)
            FROM \(sql: changed) \(sql: joinValue("r.token_digest"))
            WHERE r.claimed_at <= t.dead_at
            """
        let all: SQL = slot.kind.hasOneOwner ? "\(sql: rows) UNION ALL \(sql: formerHolders)" : rows
        return EventStatements.insertion(all, by: who, in: self.rows.scope)
    }

    private static let columns = EventStatements.columns(ofToken: "r", of: "i")

    private var changed: SQL {
        """
        (SELECT * FROM installation_tokens r WHERE \(sql: rows.matches("r")) AND \(sql: rows.isLocked)
            AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
        \(sql: TokenSlotRows.joinInstallation(of: "r", in: scope))
        """
    }

    /// The installation that had the value (this one, if it is late), and the activity and unowned tokens that had it.
    private var formerHolders: SQL {
        """
        SELECT 'taken-over', \(unescaped: EventStatements.columns(ofToken: "loser", of: "i"))
        FROM \(sql: claimed) CROSS JOIN LATERAL (
            SELECT * FROM installation_tokens holder WHERE \(sql: scope.contains("holder"))
                AND holder.installation_hash = t.displaced_installation_hash AND holder.kind = t.displaced_installation_kind LIMIT 1
        ) AS loser
        \(sql: TokenSlotRows.joinInstallation(of: "loser", in: scope))
        WHERE loser.token_digest = t.token_digest AND loser.token IS NOT NULL
        UNION ALL
        SELECT 'taken-over', \(unescaped: Self.columns)
        FROM \(sql: changed) \(sql: joinValue("r.token_digest"))
        WHERE (t.installation_hash, t.installation_kind) <> (r.installation_hash, r.kind)
        UNION ALL
        SELECT 'taken-over', \(unescaped: EventStatements.columns(of: "a"))
        FROM \(sql: claimed) \(sql: joinClaimant)
        WHERE \(unescaped: Self.losesItsToken) AND a.expires_at > now() AND t.became_installations
        UNION ALL
        SELECT 'taken-over', \(unescaped: EventStatements.columns(ofToken: "loser", of: "i"))
        FROM \(sql: claimed) CROSS JOIN LATERAL (
            SELECT * FROM installation_tokens holder
            WHERE \(sql: scope.contains("holder")) AND NOT holder.has_one_owner
                AND holder.token_digest = t.token_digest LIMIT \(QuarantineStatements.mostHolders)
        ) AS loser
        \(sql: TokenSlotRows.joinInstallation(of: "loser", in: scope))
        WHERE t.became_installations AND loser.token IS NOT NULL
        """
    }
}
