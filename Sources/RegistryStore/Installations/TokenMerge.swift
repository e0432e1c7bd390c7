import PostgresDriver

/// The expressions that merge a registration (`excluded`) into the locked row (`stored`) of an installation's token.
///
/// Each is a greatest, so the order of requests does not matter (R0). Removal depends only on times, too: a token
/// observed no later than its deletion or its installation's log-out is gone.
enum TokenMerge {
    /// The request's token has the greatest (time, digest) so far.
    static let wins = """
        (stored.token_digest IS NULL
        OR (excluded.observed_at, excluded.token_digest) > (stored.observed_at, stored.token_digest))
        """

    private static let same = "excluded.token_digest = stored.token_digest"

    /// The removal time, null if nothing was ever removed, is no earlier than a time. The installation was locked
    /// before the request was made from its row.
    private static func isGone(_ time: String) -> String {
        "coalesce(\(time) <= greatest(stored.deleted_at, excluded.installation_removed_at), false)"
    }

    private static let outcome = """
        CASE WHEN stored.token_digest IS NULL
        THEN CASE WHEN \(isGone("excluded.observed_at")) THEN 'refused'::activity_outcome ELSE 'registered' END
        WHEN \(isGone("stored.observed_at"))
        THEN CASE WHEN \(isGone("excluded.observed_at")) THEN 'refused'::activity_outcome ELSE 'reactivated' END
        WHEN \(same) THEN 'refreshed'
        WHEN \(wins) THEN 'rotated' ELSE 'superseded' END
        """

    static let assignments = """
        token = CASE WHEN \(wins) THEN CASE WHEN NOT \(isGone("excluded.observed_at")) THEN excluded.token END
        ELSE stored.token END,
        token_digest = CASE WHEN \(wins) THEN excluded.token_digest ELSE stored.token_digest END,
        observed_at = CASE WHEN \(wins) THEN excluded.observed_at ELSE stored.observed_at END,
        claimed_at = CASE WHEN \(same) THEN greatest(stored.claimed_at, excluded.claimed_at)
        WHEN \(wins) THEN excluded.claimed_at ELSE stored.claimed_at END,
        previous_claimed_at = CASE WHEN \(same) THEN stored.claimed_at END,
        confirmed_at = CASE WHEN \(wins) OR \(same) THEN greatest(stored.confirmed_at, excluded.confirmed_at)
        ELSE stored.confirmed_at END,
        outcome = \(outcome),
        touched_at = excluded.touched_at, installation_removed_at = excluded.installation_removed_at
        """
}
