import Foundation
import PostgresDriver
import RegistryCore

/// The statements that delete an app, and then, page by page, all that was its.
enum AppDeletionStatements {
    /// Deletes the app itself, and remembers that rows of it are left.
    static func delete(_ bundleID: BundleID) -> SQL {
        """
        WITH deleted AS (DELETE FROM apps WHERE bundle_id = \(bundleID.rawValue) RETURNING app_number)
        INSERT INTO deleted_apps (app_number) SELECT deleted.app_number FROM deleted RETURNING app_number
        """
    }

    /// The deleted apps of which rows are left.
    static let unfinished: SQL = "SELECT app_number FROM deleted_apps ORDER BY app_number"

    /// Forgets a deleted app of which nothing is left.
    static func finish(_ app: Int64) -> SQL { "DELETE FROM deleted_apps WHERE app_number = \(app)" }

    /// The tables whose keys begin with the app.
    static let indexedTables = [
        "alias_registrations", "alias_identities", "installation_tokens", "installation_token_claims",
        "installation_aliases", "installations", "channels", "channel_quotas", "quarantine_guards", "events",
        "token_counts", "api_keys",
    ]

    /// Deletes up to 10,000 rows of an app from a table that is indexed by it.
    static func deleteRows(of app: Int64, from table: String) -> SQL {
        """
        DELETE FROM \(unescaped: table) WHERE app_number = \(app) AND (tableoid, ctid) IN (
            SELECT tableoid, ctid FROM \(unescaped: table) WHERE app_number = \(app) LIMIT 10000
        )
        """
    }

    /// The tables whose keys begin with what tells rows apart: no index finds all rows of an app, so they are read through
    /// once, some of their pages at a time.
    static let scannedTables = ["activity_aliases", "token_values", "retired_tokens", "activities", "erasures"]

    /// The pages of 8 KiB that a table has.
    static func pageCount(of table: String) -> SQL {
        "SELECT pg_relation_size('\(unescaped: table)') / current_setting('block_size')::int8"
    }

    /// Deletes the rows of an app that stand between two pages of a table.
    static func deleteRows(of app: Int64, from table: String, pages: Range<Int>) -> SQL {
        """
        DELETE FROM \(unescaped: table) WHERE app_number = \(app)
            AND ctid >= \("(\(pages.lowerBound),0)")::text::tid AND ctid < \("(\(pages.upperBound),0)")::text::tid
        """
    }
}
