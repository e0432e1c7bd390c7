import Foundation
import PostgresDriver
import RegistryCore
import RegistryRules

/// The owner of an installation, with its aliases and its start and device tokens, as parts of the statement that locks
/// its row. ``Ownership`` is the counterpart for activities.
///
/// A caller that names an installation may act for it; a signed-in user may not if it is another user's. A user takes
/// another's installation over by registering it (by its aliases or its full state). Its aliases are then cleared, so
/// that pushes to the former user no longer reach the device. The greatest `observedAt` counts: a late registration
/// takes nothing over, but clears older data.
enum InstallationOwner {
    /// The condition that the claimant may change records of an installation.
    ///
    /// - Parameter subject: the claimant's.
    private static func permits(_ row: String, subject: SQL) -> SQL {
        "coalesce(\(unescaped: row).subject = \(sql: subject), true)"
    }

    /// The condition that a signed-in user may change records of the row `stored`, by a request `excluded`. Requests
    /// without a user have no subject.
    static let permitsRequest = permits("stored", subject: "excluded.subject")

    /// An array of its own: empty if the installation is not another's.
    static func foreign(_ rows: InstallationStatements) -> SQL {
        """
        ARRAY(SELECT 'installation' FROM installations i
        WHERE \(sql: rows.isOf("i")) AND NOT \(sql: permits("i", subject: "\(rows.claimant.subject)::text")))
        """
    }

    /// The assignments of a request that does not register the installation: an unowned one gets the subject.
    static let adopting: SQL = """
        subject = coalesce(stored.subject,
            CASE WHEN coalesce(excluded.request_observed_at > stored.removed_at, true) THEN excluded.subject END)
        """

    private static let isGone = "coalesce(excluded.subject_observed_at <= stored.removed_at, false)"

    /// The registration has the greatest (time, subject) so far.
    private static let wins = """
        (stored.subject IS NULL OR (excluded.subject_observed_at, excluded.subject COLLATE "C")
        > (coalesce(stored.subject_observed_at, '-infinity'), stored.subject COLLATE "C"))
        """

    /// Two users registered the installation; which of them is the later one does not matter.
    private static let takesOver = "coalesce(NOT \(isGone) AND excluded.subject <> stored.subject, false)"

    private static let clears = """
        \(takesOver) AND stored.aliases_observed_at <= excluded.subject_observed_at
        """

    /// The assignments of a request that registers it. `changed` says whether it was another's until now, or lost its aliases to
    /// a registration that takes nothing over.
    static let registering: SQL = """
        subject = CASE WHEN excluded.subject IS NOT NULL AND NOT \(unescaped: isGone) AND \(unescaped: wins)
        THEN excluded.subject ELSE stored.subject END,
        subject_observed_at = CASE WHEN \(unescaped: isGone) THEN stored.subject_observed_at
        ELSE greatest(stored.subject_observed_at, excluded.subject_observed_at) END,
        taken_over_at = CASE WHEN \(unescaped: takesOver)
        THEN greatest(stored.taken_over_at, excluded.subject_observed_at) ELSE stored.taken_over_at END,
        aliases = CASE WHEN \(unescaped: clears) THEN NULL ELSE stored.aliases END,
        aliases_observed_at = CASE WHEN \(unescaped: clears) THEN NULL ELSE stored.aliases_observed_at END,
        displaced_aliases = CASE WHEN \(unescaped: clears) THEN stored.aliases END,
        changed = \(unescaped: takesOver) AND (\(unescaped: wins)
        OR coalesce(\(unescaped: clears), false) AND stored.aliases IS NOT NULL)
        """
}
