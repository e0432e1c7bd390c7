import Foundation
import Logging
import PostgresDriver
import RegistryCore

extension Registry {
    /// Deletes the app and all that belongs to it. From the first moment on it is unknown; its rows follow, in small
    /// transactions. What is left when that is interrupted a sweep deletes: see ``finishDeletions()``.
    ///
    /// - Returns: false when there is no such app.
    package func deleteApp(_ bundleID: BundleID, by who: UTF8Text) async throws -> Bool {
        let number = try await write { session in
            try session.execute(AppDeletionStatements.delete(bundleID)).rows.first?.decode(Int64.self)
        }
        guard let number else { return false }
        logger.notice("app \(bundleID) was deleted by \(who)")
        try await deleteRows(of: number)
        return true
    }

    /// Deletes the rows that deleted apps have left.
    ///
    /// - Returns: how many apps there were.
    package func finishDeletions() async throws -> Int {
        let unfinished = try await read { session in
            try session.execute(AppDeletionStatements.unfinished).decode(Int64.self)
        }
        for app in unfinished { try await deleteRows(of: app) }
        return unfinished.count
    }

    private func deleteRows(of app: Int64) async throws {
        // One who had seen the app may write its rows still.
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

    /// Runs a statement on one part of a table after the other: none has an index by what is looked for.
    ///
    /// - Parameter app: of the app's rows.
    func readThrough(_ table: String, holding app: Int64, _ statement: (Range<Int>) -> SQL) async throws {
        let end = try await read { session in
            guard session.isDistributed else {
                return try session.execute(AppDeletionStatements.pageCount(of: table))[0].decode(Int.self)
            }
            let (pages, isWhole) = try session.execute(DistributedSizes.pages(of: table, holding: app))[0]
                .decode(Int.self, Bool.self)
            // Rows of a worker that is away stay until it is back, and a sweep comes by.
            guard isWhole else { throw Problem(.unavailable, "A worker of Citus does not answer.") }
            return pages
        }
        for first in stride(from: 0, to: end, by: Self.pagesOfAStatement) {
            let part = statement(first..<first + Self.pagesOfAStatement)
            _ = try await write { try $0.execute(part).affectedRows }
        }
    }
}

/// The statements that delete an app, and then, page by page, all that was its.
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

    /// Forgets a deleted app of which nothing is left. Not before other instances do not believe in it any more, who may still
    /// write rows of it: a later sweep looks again.
    static func finish(_ app: Int64) -> SQL {
        "DELETE FROM deleted_apps WHERE app_number = \(app) AND deleted_at <= now() - interval '1 minute'"
    }

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
    static let scannedTables = [
        "activity_aliases", "token_values", "former_claims", "activities", "erasures", "start_leases",
    ]

    /// The pages of 8 KiB that a table has.
    static func pageCount(of table: String) -> SQL {
        "SELECT pg_relation_size('\(unescaped: table)') / current_setting('block_size')::int8"
    }

    /// Deletes the rows of an app that stand between two pages of a table.
    static func deleteRows(of app: Int64, from table: String, pages: Range<Int>) -> SQL {
        "DELETE FROM \(unescaped: table) d WHERE d.app_number = \(app) AND \(sql: RowPlaces.areOn(pages, "d"))"
    }
}
