import Foundation
import Logging
import PostgresDriver
import RegistryCore

extension Registry {
    /// The app becomes unknown at once. Small transactions delete its rows. After an interruption, a sweep continues:
    /// see ``finishDeletions()``.
    ///
    /// - Returns: false if the app is unknown.
    package func deleteApp(_ bundleID: BundleID, by who: UTF8Text) async throws -> Bool {
        let id = try await write { session in
            try session.run("apps.delete", ["bundle_id": bundleID.rawValue]).decode { try $0["app_id"] as Int64 }.first
        }
        guard let id else { return false }
        logger.notice("app \(bundleID) was deleted by \(who)")
        try await deleteRows(ofApp: id)
        return true
    }

    package func finishDeletions() async throws -> Int {
        let unfinished = try await read { try $0.run("apps.list-deleted").decode { try $0["app_id"] as Int64 } }
        for app in unfinished { try await deleteRows(ofApp: app) }
        return unfinished.count
    }

    private func deleteRows(ofApp app: Int64) async throws {
        // A writer that read the app before its deletion may still write rows.
        try await waitForWriters()
        let scopes = try await read {
            try $0.run("apps.list-scopes", ["app": app]).decode { try $0["scope_id"] as Int64 }
        }
        for scope in scopes { try await deleteRows(of: scope) }
        try await write { session in
            let app: QueryValues = ["app": app]
            _ = try session.pipeline([Query("apps.delete-keys")(app), Query("apps.finish-deletion")(app)])
        }
    }

    private func deleteRows(of scope: Int64) async throws {
        for table in AppTables.scanned {
            let end = try await read { try TableSizes.pages(of: table, holding: scope, $0) }
            for page in stride(from: 0, to: end, by: AppTables.pagesPerStatement) {
                let deletion = AppTables.delete(scope, from: table, firstPage: page)
                _ = try await write { try $0.execute(deletion).affectedRows }
            }
        }
        for table in AppTables.indexed { try await writePages(AppTables.delete(scope, from: table)) }
    }
}

enum AppTables {
    static let indexed = [
        "alias_identities", "installation_tokens", "installation_aliases", "installations",
        "channels", "channel_quotas", "quarantine_guards", "events", "counts",
    ]

    /// Tables without an index on all rows of a scope. They are read once, in ranges of pages.
    static let scanned = ["activity_aliases", "token_values", "activities", "erasures", "start_leases"]

    /// Pages of 8 KiB per statement: 16 MiB.
    static let pagesPerStatement = 2048

    static func delete(_ scope: Int64, from table: String) -> SQL {
        """
        DELETE FROM \(unescaped: table) WHERE scope_id = \(scope) AND (tableoid, ctid) IN (
            SELECT tableoid, ctid FROM \(unescaped: table) WHERE scope_id = \(scope) LIMIT 10000
        )
        """
    }

    static func delete(_ scope: Int64, from table: String, firstPage page: Int) -> SQL {
        """
        DELETE FROM \(unescaped: table) d
        WHERE d.scope_id = \(scope) AND d.ctid >= \("(\(page),0)")::text::tid
            AND d.ctid < \("(\(page + pagesPerStatement),0)")::text::tid
        """
    }
}
