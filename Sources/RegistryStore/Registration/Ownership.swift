import PostgresDriver
import RegistryCore
import RegistryRules

/// The owner of a record, as conditions inside the statements that change it: nothing is read first and decided after.
///
/// A record keeps the subject and the installation that made it. A client may change
///
/// | the record has | a signed-in user may, when | a publishable key may, when |
/// |---|---|---|
/// | a subject | it is theirs | the installation is the one that the key names |
/// | an installation alone | the request names it; the record takes the subject on | the same |
/// | neither, and no token yet | always: a backend's end came before; the record becomes theirs | always, likewise |
/// | neither | never: it is the backend's | never |
///
/// A token that moves to another activity (R7) changes no record of another: whose the token is says its own row.
enum Ownership {
    /// The condition that a client may change an activity.
    ///
    /// - Parameters:
    ///   - subject: the client's, of type `text`; null for a publishable key.
    ///   - installation: the hash of the installation that the request names, or null.
    static func permits(_ row: String, subject: SQL, installation: SQL) -> SQL {
        let row: SQL = "\(unescaped: row)"
        return """
            coalesce(\(sql: row).subject = \(sql: subject)
                OR (\(sql: row).installation_hash = \(sql: installation)
                    AND (\(sql: row).subject IS NULL OR \(sql: subject) IS NULL))
                OR (\(sql: row).subject IS NULL AND \(sql: row).installation_hash IS NULL
                    AND \(sql: row).token_digest IS NULL), false)
            """
    }

    static func permits(_ row: String, to claimant: Claimant) -> SQL {
        guard claimant != .any else { return "true" }
        return permits(row, subject: "\(claimant.subject)", installation: "\(claimant.installation?.bytes)")
    }

    /// The activities among `ids` that belong to others, as an array.
    static func foreign(_ ids: [ActivityID], to claimant: Claimant, in scope: Scope) -> SQL {
        guard claimant != .any, !ids.isEmpty else { return "'{}'::text[]" }
        return """
            ARRAY(SELECT a.activity_id FROM activities a
            WHERE \(sql: scope.contains("a"))
                AND a.activity_id = ANY(\(ids)) AND NOT \(sql: permits("a", to: claimant)))
            """
    }
}
