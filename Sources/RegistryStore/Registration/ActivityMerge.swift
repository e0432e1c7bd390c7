import PostgresDriver

/// The expressions that merge a request (`excluded`) into an activity's locked row (`stored`).
///
/// Each is a greatest or a least, so the order of requests does not matter (R0). They use no clock, no table and no
/// parameter because a distributed Postgres sends them to the row's node, which lacks them: the time of the request's
/// transaction is `excluded.touched_at`, and the installation's times are columns, too.
///
/// Expressions for facts that no request of a batch gives are left out: Postgres prepares all of them for each
/// statement.
struct ActivityMerge {
    let shape: RegistrationBatch.Shape

    /// The request's token has the greatest (time, digest) so far (R2).
    private static let wins = """
        (excluded.token_digest IS NOT NULL AND (stored.token_digest IS NULL
        OR (excluded.token_observed_at, excluded.token_digest) > (stored.token_observed_at, stored.token_digest)))
        """

    private static let differs = "(excluded.token_digest <> stored.token_digest)"

    /// It was missing from its installation's full state, and the request observed it later (R9).
    ///
    /// The installation was looked up before the row was locked. It is the row's, unless another session inserted the
    /// row in between: then it is the request's, which is equal or missing. So of two requests that meet at the row's
    /// creation, the later may report `refreshed` instead of `reactivated`. The dismissal follows from the times alone,
    /// in either case.
    private static let reactivates = """
        coalesce(stored.installation_hash IS NOT NULL AND \(fullStateAt) > stored.last_observed_at
        AND \(fullStateAt) <= excluded.last_observed_at, false)
        """

    /// The installation's last full state: as it was looked up, or as the row says that was dismissed by one since.
    private static let fullStateAt = """
        greatest(excluded.installation_full_state_at,
        CASE WHEN stored.outcome = 'dismissed' THEN stored.installation_full_state_at END)
        """

    /// The request says earlier than all others when the activity starts (R5).
    private static let schedules = isFirst("starts_at", "starts_at_observed_at")

    private var startsAt: String {
        shape.hasStarts
            ? "CASE WHEN \(Self.schedules) THEN excluded.starts_at ELSE stored.starts_at END" : "stored.starts_at"
    }

    /// Its lifetime runs from its start, or from the one that it was scheduled for, whichever is later (R5).
    ///
    /// A distributed Postgres takes a sum for a matter of the time zone unless it is made without one. Sessions have UTC, so it is
    /// the same sum. By its name Postgres would look the zone up each time.
    private var expiresAt: String {
        """
        ((greatest(least(stored.started_at, excluded.started_at), \(startsAt)) AT TIME ZONE interval '0' + stored.lifetime)
        AT TIME ZONE interval '0')
        """
    }

    /// It had expired, and is now scheduled for later. Accusations of its token in between were not recorded with it,
    /// so the token's value decides.
    private var returns: String {
        shape.hasStarts ? "(stored.expires_at <= excluded.touched_at AND \(expiresAt) > excluded.touched_at)" : "false"
    }

    /// Ended precedes expired: an end is final (R4, R5).
    private var outcome: String {
        """
        CASE WHEN stored.ended_at IS NOT NULL THEN 'refused'::activity_outcome
        WHEN \(expiresAt) <= excluded.touched_at THEN 'expired'
        WHEN excluded.token_digest IS NOT NULL AND stored.token_digest IS NULL THEN 'registered'
        WHEN \(Self.differs) THEN CASE WHEN \(Self.wins) THEN 'rotated'::activity_outcome ELSE 'superseded' END
        WHEN \(Self.reactivates) OR \(returns) THEN 'reactivated'
        WHEN excluded.token_digest IS NULL THEN 'observed' ELSE 'refreshed' END
        """
    }

    /// The last request changed the activity for senders.
    private var changesView: String {
        let changes =
            [
                "(\(Self.wins) AND stored.token_digest IS DISTINCT FROM excluded.token_digest)",
                "excluded.started_at < stored.started_at",
            ] + (shape.hasStarts ? [Self.changesFact("starts_at"), returns] : [])
            + StoredFact.all.map { "(stored.\($0.name) IS NULL AND excluded.\($0.name) IS NOT NULL)" }
            + [Self.reactivates]
        return changes.joined(separator: "\nOR ")
    }

    /// A fact of the activity: the first given stays, by (time, value) (R6).
    static func firstGiven(_ column: String, _ time: String) -> String {
        given(column, time, order: "<")
    }

    /// Replaced as a whole, by the greatest (time, value) (R6).
    static func lastGiven(_ column: String, _ time: String) -> String {
        given(column, time, order: ">")
    }

    private static func isFirst(_ column: String, _ time: String) -> String { isGiven(column, time, order: "<") }

    private static func isGiven(_ column: String, _ time: String, order: String) -> String {
        """
        excluded.\(column) IS NOT NULL AND (stored.\(column) IS NULL
        OR (excluded.\(time), excluded.\(column)) \(order) (stored.\(time), stored.\(column)))
        """
    }

    private static func given(_ column: String, _ time: String, order: String) -> String {
        let condition = isGiven(column, time, order: order)
        return [column, time]
            .map { "\($0) = CASE WHEN \(condition) THEN excluded.\($0) ELSE stored.\($0) END" }
            .joined(separator: ",\n")
    }

    private static let changesAliases = """
        (excluded.aliases IS NOT NULL AND excluded.aliases IS DISTINCT FROM stored.aliases AND (stored.aliases IS NULL
        OR (excluded.aliases_observed_at, excluded.aliases) > (stored.aliases_observed_at, stored.aliases)))
        """

    /// The request changes a fact visible to senders, apart from the token and the aliases.
    private var changesFacts: String {
        let facts = (shape.hasStarts ? ["starts_at"] : []) + ["installation_hash"] + StoredFact.all.map(\.name)
        return """
            coalesce(excluded.started_at < stored.started_at
            OR \(facts.map(Self.changesFact).joined(separator: "\nOR ")), false)
            """
    }

    private static func changesFact(_ column: String) -> String {
        let time = column == "installation_hash" ? "installation_observed_at" : column + "_observed_at"
        return "(\(isFirst(column, time)) AND excluded.\(column) IS DISTINCT FROM stored.\(column))"
    }

    var assignments: String {
        ([token, times] + (shape.hasStarts ? [Self.firstGiven("starts_at", "starts_at_observed_at")] : []) + facts + [
            aliases, effect,
        ])
        .joined(separator: ",\n")
    }

    private var token: String {
        let (wins, differs) = (Self.wins, Self.differs)
        return """
            token = CASE WHEN stored.ended_at IS NOT NULL THEN NULL
            WHEN stored.expiry_recorded_at IS NOT NULL AND \(expiresAt) <= excluded.touched_at THEN NULL
            WHEN \(wins) OR (stored.token IS NULL AND NOT \(differs)) THEN excluded.token ELSE stored.token END,
            token_digest = CASE WHEN \(wins) THEN excluded.token_digest ELSE stored.token_digest END,
            token_observed_at = CASE WHEN \(wins) THEN excluded.token_observed_at ELSE stored.token_observed_at END,
            token_claimed_at = CASE WHEN excluded.token_digest = stored.token_digest
            THEN greatest(stored.token_claimed_at, excluded.token_claimed_at)
            WHEN \(wins) THEN excluded.token_claimed_at ELSE stored.token_claimed_at END,
            previous_claimed_at = CASE WHEN excluded.token_digest = stored.token_digest THEN stored.token_claimed_at END,
            token_is_doubted = (stored.token_is_doubted OR \(returns)) AND NOT coalesce(\(differs) AND \(wins), false),
            confirmed_at = CASE WHEN stored.ended_at IS NULL
            AND (\(wins) OR excluded.token_digest = stored.token_digest)
            THEN greatest(stored.confirmed_at, excluded.confirmed_at) ELSE stored.confirmed_at END
            """
    }

    private var times: String {
        """
        last_observed_at = greatest(stored.last_observed_at, excluded.last_observed_at),
        started_at = least(stored.started_at, excluded.started_at),
        expires_at = \(expiresAt),
        expiry_recorded_at = CASE WHEN \(expiresAt) <= excluded.touched_at THEN stored.expiry_recorded_at END
        """
    }

    private var facts: [String] {
        let first = [("installation_hash", "installation_observed_at"), ("subject", "subject_observed_at")]
        return (first + StoredFact.all.map { ($0.name, $0.time) }).map(Self.firstGiven) + [
            Self.lastGiven("metadata", "metadata_observed_at")
        ]
    }

    private var aliases: String {
        guard shape.hasAliases else { return "aliases_changed = false, displaced_aliases = NULL" }
        return """
            \(Self.lastGiven("aliases", "aliases_observed_at")),
            aliases_changed = \(Self.changesAliases),
            displaced_aliases = CASE WHEN \(Self.changesAliases) THEN stored.aliases END
            """
    }

    private var effect: String {
        """
        revision = stored.revision + CASE WHEN \(changesView) THEN 1 ELSE 0 END,
        outcome = \(outcome),
        facts_changed = \(changesFacts),
        touched_at = excluded.touched_at, batch_number = excluded.batch_number,
        installation_full_state_at = \(Self.fullStateAt),
        installation_removed_at = excluded.installation_removed_at
        """
    }
}
