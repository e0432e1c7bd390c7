import PostgresDriver
import RegistryCore

/// The statements that write the audit trail (R11), except those about keys.
enum EventStatements {
    /// The columns of an event about an activity, from the row called `row`: all that ``insertion(_:by:in:)`` needs but
    /// the type.
    static func columns(of row: String) -> String {
        """
        \(row).activity_id, \(row).installation_hash, \(row).subject, \(row).aliases, \(row).token_digest,
        NULL::text AS token_kind, NULL::text AS attributes_type
        """
    }

    /// The columns of an event about a token of an installation, from the rows called `token` and `installation`.
    static func columns(ofToken token: String, of installation: String) -> String {
        """
        NULL::text AS activity_id, \(installation).installation_hash, \(installation).subject, \(installation).aliases,
        \(token).token_digest, \(token).kind AS token_kind, nullif(\(token).attributes_type, '') AS attributes_type
        """
    }

    /// The columns of an event about no activity and no installation.
    ///
    /// - Parameter aliases: an expression, those that it is about.
    static func columns(ofAliases aliases: SQL) -> SQL {
        """
        NULL::text AS activity_id, NULL::bytea AS installation_hash, NULL::text AS subject, \(sql: aliases) AS aliases,
        NULL::bytea AS token_digest, NULL::text AS token_kind, NULL::text AS attributes_type
        """
    }

    /// Writes an event for each row.
    ///
    /// - Parameter rows: a query of `type`, `activity_id`, `installation_hash`, `subject`, `aliases`, `token_digest`,
    ///   `token_kind`, `attributes_type`.
    static func insertion(_ rows: SQL, by who: UTF8Text, in scope: Scope) -> SQL {
        insertion("SELECT given.*, \(who)::text AS who FROM (\(sql: rows)) AS given", in: scope)
    }

    /// Writes an event for each row; the rows have a column `who`, too.
    static func insertion(_ rows: SQL, in scope: Scope) -> SQL {
        .insertion(
            into: "events",
            """
            scope_id, drop_on, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint, token_kind,
            attributes_type
            """,
            """
            SELECT \(scope.id), \(sql: dropDay(of: scope.app)), e.type, e.who, e.activity_id, e.installation_hash, e.subject,
                e.aliases, substr(e.token_digest, 1, 4), e.token_kind, e.attributes_type
            FROM (\(sql: rows)) AS e
            """
        )
    }

    /// The index of events uses the hash of an activity's id. Ids may collide, so compare the id, too.
    static func activityHash(_ id: SQL) -> SQL { "hashtextextended(\(sql: id), 0)" }

    /// The first day at whose start an event of now is past the app's retention.
    static func dropDay(of app: App) -> SQL { "(now() + \(app.settings.eventRetention))::date + 1" }

    /// An event in each of the app's scopes.
    static func aboutApp(_ type: String, _ bundleID: BundleID, by who: UTF8Text) -> SQL {
        """
        INSERT INTO events (scope_id, drop_on, type, who)
        SELECT s.scope_id, (now() + app.event_retention)::date + 1, \(type), \(who)
        FROM apps app JOIN scopes s ON s.app_id = app.app_id
        WHERE app.bundle_id = \(bundleID.rawValue)
        """
    }
}
