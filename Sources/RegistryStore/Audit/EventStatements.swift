import PostgresDriver
import RegistryCore

/// The statements that write the audit trail (R11); those about keys are beside the keys' own.
enum EventStatements {
    /// The columns of an event about an activity, from the row called `row`: all that ``insertion(_:by:in:)`` needs but
    /// the type.
    static func columns(of row: String) -> String {
        "\(row).activity_id, \(row).installation_hash, \(row).subject, \(row).aliases, \(row).token_digest"
    }

    /// The columns of an event about an installation, from the row called `installation`, and about one of its tokens.
    ///
    /// - Parameter digest: an expression, the SHA-256 of the token that the event is about.
    static func columns(ofInstallation installation: String, digest: String = "NULL::bytea") -> String {
        """
        NULL::text AS activity_id, \(installation).installation_hash, \(installation).subject,
        \(installation).aliases, \(digest) AS token_digest
        """
    }

    /// Writes an event for each row.
    ///
    /// - Parameter rows: a query of `type`, `activity_id`, `installation_hash`, `subject`, `aliases`, `token_digest`.
    static func insertion(_ rows: SQL, by who: UTF8Text, in scope: Scope) -> SQL {
        insertion("SELECT given.*, \(who)::text AS who FROM (\(sql: rows)) AS given", in: scope)
    }

    /// Writes an event for each row; the rows have a column `who`, too.
    static func insertion(_ rows: SQL, in scope: Scope) -> SQL {
        .insertion(
            into: "events",
            """
            app_number, drop_on, environment, type, who, activity_id, installation_hash, subject, aliases, token_fingerprint
            """,
            """
            SELECT \(scope.app.number), \(sql: dropDay(of: scope.app)), \(scope.environment.rawValue)::apns_environment,
                e.type, e.who, e.activity_id, e.installation_hash, e.subject, e.aliases, substr(e.token_digest, 1, 4)
            FROM (\(sql: rows)) AS e
            """
        )
    }

    /// The first day at whose start an event of now is past the app's retention.
    private static func dropDay(of app: App) -> SQL { "(now() + \(app.settings.eventRetention))::date + 1" }

    /// An event about an app itself.
    static func aboutApp(_ type: String, _ bundleID: BundleID, by who: UTF8Text) -> SQL {
        """
        INSERT INTO events (app_number, drop_on, type, who)
        SELECT app.app_number, (now() + app.event_retention)::date + 1, \(type), \(who)
        FROM apps app WHERE app.bundle_id = \(bundleID.rawValue)
        """
    }
}
