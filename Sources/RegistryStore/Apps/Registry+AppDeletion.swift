import Foundation
import Logging
import PostgresDriver
import RegistryCore

extension Registry {
    /// Deletes the app and all of its rows. It is unknown at once; its rows follow in small transactions. A sweep
    /// deletes the rest after an interruption: see ``finishDeletions()``.
    ///
    /// - Returns: false if there is no such app.
    package func deleteApp(_ bundleID: BundleID, by who: UTF8Text) async throws -> Bool {
        let number = try await write { session in
            try session.execute(AppDeletionStatements.delete(bundleID)).rows.first?.decode(Int64.self)
        }
        guard let number else { return false }
        logger.notice("app \(bundleID) was deleted by \(who)")
        try await deleteRows(of: number)
        return true
    }

    /// Deletes rows left by deleted apps.
    ///
    /// - Returns: the number of these apps.
    package func finishDeletions() async throws -> Int {
        let unfinished = try await read { session in
            try session.execute(AppDeletionStatements.unfinished).decode(Int64.self)
        }
        for app in unfinished { try await deleteRows(of: app) }
        return unfinished.count
    }

    private func deleteRows(of app: Int64) async throws {
        // A writer that read the app before its deletion may still write rows.
        try await waitForWriters()
        for table in AppDeletionStatements.scannedTables {
            try await readThrough(table, holding: app) { pages in
                AppDeletionStatements.deleteRows(of: app, from: table, pages: pages)
            }
        }
        for table in AppDeletionStatements.indexedTables {
            while try await write({
                try $0.execute(AppDeletionStatements.deleteRows(of: app, from: table)).affectedRows
            }) > 0 {}
        }
        _ = try await write { try $0.execute(AppDeletionStatements.finish(app)).affectedRows }
    }

    /// Pages of 8 KiB that a statement reads: 16 MiB, which is quick on any disk.
    private static let pagesOfAStatement = 2048

    /// Runs a statement on one part of a table after the other: no index finds the rows.
    func readThrough(_ table: String, holding app: Int64, _ statement: (Range<Int>) -> SQL) async throws {
        let end = try await read { session in
            guard session.isDistributed else {
                return try session.execute(AppDeletionStatements.pageCount(of: table))[0].decode(Int.self)
            }
            let (pages, isWhole) = try session.execute(DistributedSizes.pages(of: table, holding: app))[0]
                .decode(Int.self, Bool.self)
            // Rows of an unreachable worker stay until a later sweep.
            guard isWhole else { throw Problem(.unavailable, "A worker of Citus does not answer.") }
            return pages
        }
        for first in stride(from: 0, to: end, by: Self.pagesOfAStatement) {
            let part = statement(first..<first + Self.pagesOfAStatement)
            _ = try await write { try $0.execute(part).affectedRows }
        }
    }
}

enum AppDeletionStatements {
    /// Deletes the app itself, and remembers that rows of it are left.
    static func delete(_ bundleID: BundleID) -> SQL {
        """
        WITH deleted AS (DELETE FROM apps WHERE bundle_id = \(bundleID.rawValue) RETURNING app_number)
        INSERT INTO deleted_apps (app_number) SELECT deleted.app_number FROM deleted RETURNING app_number
        """
    }

    /// The deleted apps that may still have rows.
    static let unfinished: SQL = "SELECT app_number FROM deleted_apps ORDER BY app_number"

    /// Waits until no other instance still uses the app and writes its rows: a later sweep looks again.
    static func finish(_ app: Int64) -> SQL {
        "DELETE FROM deleted_apps WHERE app_number = \(app) AND deleted_at <= now() - interval '1 minute'"
    }

    static let indexedTables = [
        "alias_registrations", "alias_identities", "installation_tokens", "installation_aliases", "installations",
        "channels", "channel_quotas", "quarantine_guards", "events", "counts", "api_keys",
    ]

    static func deleteRows(of app: Int64, from table: String) -> SQL {
        """
        DELETE FROM \(unescaped: table) WHERE app_number = \(app) AND (tableoid, ctid) IN (
            SELECT tableoid, ctid FROM \(unescaped: table) WHERE app_number = \(app) LIMIT 10000
        )
        """
    }

    /// The tables whose keys do not begin with the app: no index finds all rows of an app, so they are read once, some
    /// pages at a time.
    static let scannedTables = [
        "activity_aliases", "token_values", "former_claims", "activities", "erasures", "start_leases",
    ]

    static func pageCount(of table: String) -> SQL {
        "SELECT pg_relation_size('\(unescaped: table)') / current_setting('block_size')::int8"
    }

    static func deleteRows(of app: Int64, from table: String, pages: Range<Int>) -> SQL {
        "DELETE FROM \(unescaped: table) d WHERE d.app_number = \(app) AND \(sql: RowPlaces.areOn(pages, "d"))"
    }
}
