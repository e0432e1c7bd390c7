import Foundation
import PostgresDriver
import RegistryCore

/// The statements of a start or device token's registration, sent in one round trip and committed as one transaction.
///
/// They lock the installation, the activity that has the value, the token's row, the value's: the order of all writes.
struct TokenRegistrationStatements {
    let registration: TokenRegistration
    let rows: TokenSlotRows
    let who: String

    private var slot: TokenSlot { rows.slot }
    private var app: Int64 { rows.scope.app.number }
    private var environment: String { rows.scope.environment.rawValue }
    private var token: [UInt8] { registration.token.bytes }

    /// All of them, in order. The result at ``standingIndex`` is needed for the answer.
    var all: [SQL] {
        let lock = rows.statements.lock(observedAt: registration.observedAt)
        guard slot.hasOneOwner else { return [lock, merge, claim, mention, settlement, event] }
        return [lock, holderLock, merge, claim, ownership, settlement, retirement, event, doubt]
    }

    /// Where ``all`` has ``settlement``.
    var standingIndex: Int { slot.hasOneOwner ? 5 : 4 }

    // MARK: The merge

    /// R3: without `observedAt` the current token again claims nothing new, and any other counts as observed now, one
    /// that was replaced before, too. The installation's lock makes "now" the order of receipt.
    private var timedRequest: SQL {
        """
        SELECT clock.received_at, i.removed_at, CASE WHEN \(registration.observedAt) IS NOT NULL
                THEN \(registration.observedAt)
            WHEN known.token_digest = sha256(\(token))
                AND known.observed_at > greatest(known.deleted_at, i.removed_at, '-infinity') THEN known.observed_at
            ELSE clock.received_at END AS observed_at,
            \(registration.observedAt) IS NULL
                AND \(unescaped: QuarantineStatements.isEndedByReceipt(of: "known", claimedAt: "claimed_at")) AS ends_quarantine
        FROM installations i
        CROSS JOIN LATERAL (SELECT clock_timestamp() AS received_at WHERE i.app_number IS NOT NULL) AS clock
        LEFT JOIN \(unescaped: slot.table) known ON \(sql: rows.isIt("known"))
        WHERE \(sql: rows.isOfInstallation("i"))
        """
    }

    /// One upsert; always writes, so that a repeated request is as durable as the first (R1).
    private var merge: SQL {
        """
        INSERT INTO \(unescaped: slot.table) AS stored (
            app_number, environment, installation_hash, \(unescaped: slot.keyColumn), token, token_digest, observed_at,
            claimed_at, confirmed_at, outcome
        )
        SELECT app.app_number, \(environment)::apns_environment, \(rows.installation.bytes), \(slot.key),
            CASE WHEN r.observed_at > coalesce(r.removed_at, '-infinity') THEN \(token) END, sha256(\(token)),
            r.observed_at, CASE WHEN r.ends_quarantine THEN r.received_at ELSE least(r.observed_at, r.received_at) END,
            r.received_at,
            CASE WHEN r.observed_at <= r.removed_at THEN 'refused' ELSE 'registered' END::activity_outcome
        FROM apps app CROSS JOIN (\(sql: timedRequest)) AS r
        WHERE app.app_number = \(app) AND \(sql: rows.isLocked)
        ON CONFLICT (app_number, environment, installation_hash, \(unescaped: slot.keyColumn))
        DO UPDATE SET \(unescaped: TokenMerge.assignments)
        """
    }

    /// Since when and until when the value was claimed here: what A, B, A is seen by.
    private var claim: SQL {
        """
        INSERT INTO installation_token_claims AS stored (app_number, environment, installation_hash, kind,
            attributes_type, token_digest, first_observed_at, last_observed_at)
        SELECT r.app_number, r.environment, r.installation_hash, \(slot.kind.name),
            \(slot.attributesType?.rawValue ?? ""), sha256(\(token)), \(sql: claimTime), \(sql: claimTime)
        FROM \(unescaped: slot.table) r WHERE \(sql: claims)
        ON CONFLICT (app_number, environment, installation_hash, kind, attributes_type, token_digest) DO UPDATE SET
            first_observed_at = least(stored.first_observed_at, excluded.first_observed_at),
            last_observed_at = greatest(stored.last_observed_at, excluded.last_observed_at)
        """
    }

    /// The row called `r` is that of the place, and the request claims the value: one without `observedAt` that did
    /// not become current claims nothing.
    private var claims: SQL {
        """
        \(sql: rows.isIt("r")) AND \(sql: rows.isLocked)
        AND (\(registration.observedAt) IS NOT NULL OR r.token_digest = sha256(\(token)))
        """
    }

    private var claimTime: SQL { "coalesce(\(registration.observedAt), r.observed_at)" }

    // MARK: One owner a value

    /// The greatest (time, installation, kind) that ever claimed the value owns it (R7), and stays its owner.
    private var ownership: SQL {
        """
        INSERT INTO token_values AS stored (app_number, environment, token_digest, installation_kind, installation_hash,
            installation_observed_at, became_installations)
        SELECT r.app_number, r.environment, sha256(\(token)), r.kind, r.installation_hash, \(sql: claimTime), true
        FROM \(unescaped: slot.table) r WHERE \(sql: claims)
        ON CONFLICT (app_number, environment, token_digest) DO UPDATE SET \(unescaped: Self.ownershipAssignments)
        """
    }

    /// A start token's value has no owner; that it is known as one, feedback must tell.
    private var mention: SQL {
        """
        INSERT INTO token_values AS stored (app_number, environment, token_digest, start_observed_at)
        SELECT r.app_number, r.environment, sha256(\(token)), \(sql: claimTime)
        FROM \(unescaped: slot.table) r WHERE \(sql: claims)
        ON CONFLICT (app_number, environment, token_digest) DO UPDATE SET
            start_observed_at = greatest(stored.start_observed_at, excluded.start_observed_at),
            touched_at = clock_timestamp()
        """
    }

    private static let ownershipAssignments = """
        installation_kind = CASE WHEN \(claimsMore) THEN excluded.installation_kind ELSE stored.installation_kind END, \
        installation_hash = CASE WHEN \(claimsMore) THEN excluded.installation_hash ELSE stored.installation_hash END, \
        installation_observed_at = greatest(stored.installation_observed_at, excluded.installation_observed_at), \
        displaced_installation_kind = CASE WHEN \(displaces) THEN stored.installation_kind END, \
        displaced_installation_hash = CASE WHEN \(displaces) THEN stored.installation_hash END, \
        became_installations = stored.installation_hash IS NULL, \
        touched_at = clock_timestamp()
        """

    private static let claimsMore = """
        (stored.installation_hash IS NULL \
        OR (excluded.installation_observed_at, excluded.installation_hash, excluded.installation_kind) \
        > (stored.installation_observed_at, stored.installation_hash, stored.installation_kind))
        """

    private static let displaces = """
        \(claimsMore) AND (stored.installation_hash, stored.installation_kind) \
        <> (excluded.installation_hash, excluded.installation_kind)
        """

    // MARK: What follows from the merged rows

    /// Tells what became of the request. A token that was dead, quarantined or another installation's, and that the
    /// request claims later than that, is `reactivated` (R8).
    private var settlement: SQL {
        let takesBack: SQL = slot.hasOneOwner ? "OR t.displaced_installation_hash IS NOT NULL" : ""
        return """
            UPDATE \(unescaped: slot.table) r SET outcome = CASE WHEN r.outcome = 'refreshed' AND (
                    (r.previous_claimed_at <= greatest(t.dead_at, t.quarantined_at)
                        AND r.claimed_at > greatest(t.dead_at, t.quarantined_at)) \(sql: takesBack)
                ) THEN 'reactivated' ELSE r.outcome END
            FROM installations i LEFT JOIN token_values t ON t.app_number = i.app_number
                AND t.environment = i.environment AND t.token_digest = sha256(\(token))
            WHERE \(sql: rows.isOfInstallation("i")) AND \(sql: rows.isIt("r")) AND \(sql: rows.isLocked)
            RETURNING \(unescaped: MergedToken.columns)
            """
    }

    /// The value's row, right after the request claimed it.
    private var claimed: SQL {
        """
        \(unescaped: slot.table) r JOIN token_values t ON t.app_number = r.app_number AND t.environment = r.environment
            AND t.token_digest = sha256(\(token)) AND \(sql: claims)
        """
    }

    /// The activity that has the value loses it, for it was no activity's token ever.
    private var retirement: SQL {
        RetirementStatements.insertion(
            """
            SELECT a.app_number, a.environment, a.activity_id, a.token_digest, a.token_observed_at,
                'taken-over'::retirement_reason
            FROM \(sql: claimed) JOIN activities a ON \(unescaped: Self.isRobbed)
            WHERE t.became_installations
            """
        )
    }

    /// Activities are locked before values, and the last statement writes the one that has the value.
    private var holderLock: SQL {
        """
        SELECT FROM activities a
        WHERE a.app_number = \(app) AND a.environment = \(environment)::apns_environment AND a.activity_id = (
            SELECT t.activity_id FROM token_values t
            WHERE t.app_number = \(app) AND t.environment = \(environment)::apns_environment
                AND t.token_digest = sha256(\(token))
        )
        FOR UPDATE
        """
    }

    /// A value of this kind is never handed out as an activity's.
    private var doubt: SQL {
        """
        UPDATE activities a SET token_is_doubted = true
        FROM token_values t
        WHERE t.app_number = \(app) AND t.environment = \(environment)::apns_environment
            AND t.token_digest = sha256(\(token)) AND t.installation_hash IS NOT NULL
            AND \(unescaped: Self.isRobbed) AND NOT a.token_is_doubted
        """
    }

    private static let isRobbed = """
        a.app_number = t.app_number AND a.environment = t.environment AND a.activity_id = t.activity_id \
        AND a.token_digest = t.token_digest AND a.ended_at IS NULL
        """

    /// R11; R8 for a token that was dead when it came; R7 for whoever loses the value.
    private var event: SQL {
        let rows: SQL = """
            SELECT r.outcome::text AS type, \(unescaped: Self.columns)
            FROM \(sql: changed)
            UNION ALL
            SELECT 'dropped', \(unescaped: Self.columns)
            FROM \(sql: changed) JOIN token_values t ON t.app_number = r.app_number AND t.environment = r.environment
                AND t.token_digest = r.token_digest AND r.claimed_at <= t.dead_at
            """
        let all: SQL = slot.hasOneOwner ? "\(sql: rows) UNION ALL \(sql: losses)" : rows
        return EventStatements.insertion(all, by: who, in: self.rows.scope)
    }

    private static let columns = EventStatements.columns(ofInstallation: "i", digest: "r.token_digest")

    private var changed: SQL {
        """
        (SELECT * FROM \(unescaped: slot.table) r WHERE \(sql: rows.isIt("r")) AND \(sql: rows.isLocked)
            AND r.outcome IN ('registered', 'rotated', 'reactivated')) AS r
        \(unescaped: TokenSlotRows.joinInstallation(of: "r"))
        """
    }

    /// The installation that had the value; this one, when it is late; the activity and the start tokens that had it.
    private var losses: SQL {
        """
        SELECT 'taken-over', \(unescaped: EventStatements.columns(ofInstallation: "i", digest: "loser.token_digest"))
        FROM \(sql: claimed) JOIN device_tokens loser ON loser.app_number = t.app_number
            AND loser.environment = t.environment AND loser.installation_hash = t.displaced_installation_hash
            AND loser.kind = t.displaced_installation_kind AND loser.token_digest = t.token_digest
        \(unescaped: TokenSlotRows.joinInstallation(of: "loser"))
        WHERE loser.observed_at > greatest(loser.deleted_at, i.removed_at, '-infinity')
        UNION ALL
        SELECT 'taken-over', \(unescaped: Self.columns)
        FROM \(sql: changed) JOIN token_values t ON t.app_number = r.app_number AND t.environment = r.environment
            AND t.token_digest = r.token_digest
            AND (t.installation_hash, t.installation_kind) <> (r.installation_hash, r.kind)
        UNION ALL
        SELECT 'taken-over', \(unescaped: EventStatements.columns(of: "a"))
        FROM \(sql: claimed) JOIN activities a ON \(unescaped: Self.isRobbed) AND a.expires_at > now()
        WHERE t.became_installations
        UNION ALL
        SELECT 'taken-over', \(unescaped: EventStatements.columns(ofInstallation: "i", digest: "s.token_digest"))
        FROM \(sql: claimed) JOIN start_tokens s ON s.app_number = t.app_number AND s.environment = t.environment
            AND s.token_digest = t.token_digest
        \(unescaped: TokenSlotRows.joinInstallation(of: "s"))
        WHERE t.became_installations AND s.observed_at > greatest(s.deleted_at, i.removed_at, '-infinity')
        """
    }
}
