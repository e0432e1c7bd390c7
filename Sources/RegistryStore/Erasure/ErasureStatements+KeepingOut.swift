import Foundation
import PostgresDriver
import RegistryCore

extension ErasureStatements {
    /// Whether anything was erased lately: only then does a request about an activity need a check. Requests older than
    /// the retention are past their lifetime.
    private static func isRecent(in scope: Scope) -> SQL {
        """
        coalesce((SELECT recent.erased_at FROM erasures recent WHERE \(sql: scope.contains("recent")) AND recent.erased_at > '-infinity'
            ORDER BY recent.erased_at DESC LIMIT 1) > now() - \(scope.app.settings.tombstoneRetention), false)
        """
    }

    /// Whether a request about an activity concerns erased data: the activity, or any name in it with an observation no
    /// later than the erasure.
    ///
    /// - Parameters:
    ///   - digests: the digests of all names in the request, the activity's included.
    ///   - activity: the digest of the activity that it names.
    ///   - time: when it was observed.
    static func isErased(digests: SQL, activity: SQL, observedAt time: SQL, in scope: Scope) -> SQL {
        """
        (\(sql: isRecent(in: scope)) AND \(sql: isNoted(digests, activity: activity, observedAt: time, in: scope))) IS TRUE
        """
    }

    /// Whether any of the names was erased after the observation, however long ago: an installation's aliases and
    /// tokens have no lifetime. A request without a time is later than all erasures. The row of the app is called
    /// `app`.
    static func isErased(_ names: [UTF8Text], observedAt: Date?, in scope: Scope) -> SQL {
        let digests: SQL = "ARRAY(SELECT \(unescaped: digest("named.name")) FROM unnest(\(names)) AS named (name))"
        let time: SQL = "coalesce(\(observedAt), now())"
        return "(\(sql: isNoted(digests, activity: "NULL", observedAt: time, in: scope))) IS TRUE"
    }

    /// `IS TRUE` keeps each digest a lookup of its own: joined, all erasures of the app would be read.
    private static func isNoted(_ digests: SQL, activity: SQL, observedAt time: SQL, in scope: Scope) -> SQL {
        """
        EXISTS (
            SELECT FROM erasures erased
            WHERE \(sql: scope.contains("erased"))
                AND erased.erased_digest = ANY(\(sql: digests))
                AND (erased.erased_digest = \(sql: activity) OR erased.erased_at >= \(sql: time))
        )
        """
    }

    /// The digests of all that registration `r` names.
    static let registrationDigests: SQL = """
        (ARRAY[\(unescaped: digest("'activity:' || r.activity_id")),
        \(unescaped: digest("'installation:' || encode(r.installation_hash, 'hex')")),
        \(unescaped: digest("'subject:' || r.subject"))] || ARRAY(
        SELECT \(unescaped: digest("'alias:' || kinds.key || ':' || alias_values.value"))
        FROM jsonb_each(r.aliases) AS kinds CROSS JOIN LATERAL jsonb_array_elements_text(kinds.value) AS alias_values))
        """
}
