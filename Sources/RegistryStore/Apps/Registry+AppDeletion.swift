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
        let id = try await write { session in
            try session.execute(AppDeletionStatements.delete(bundleID)).rows.first?.decode(Int64.self)
        }
        guard let id else { return false }
        logger.notice("app \(bundleID) was deleted by \(who)")
        try await deleteRows(ofApp: id)
        return true
    }

    /// Deletes rows left by deleted apps.
    ///
    /// - Returns: the number of these apps.
    package func finishDeletions() async throws -> Int {
        let unfinished = try await read { session in
            try session.execute(AppDeletionStatements.unfinished).decode(Int64.self)
        }
        for app in unfinished { try await deleteRows(ofApp: app) }
        return unfinished.count
    }

    private func deleteRows(ofApp app: Int64) async throws {
        // A writer that read the app before its deletion may still write rows.
        try await waitForWriters()
        let scopes = try await read { try $0.execute(AppDeletionStatements.scopes(ofApp: app)).decode(Int64.self) }
        for scope in scopes { try await deleteRows(of: scope) }
        try await write { session in
            try session.transaction { transaction in
                let finish = [AppDeletionStatements.deleteKeys(ofApp: app), AppDeletionStatements.finish(app)]
                let isFinished = try transaction.pipeline(finish)[1].affectedRows > 0
                let rest = isFinished ? [AppDeletionStatements.deleteScopes(ofApp: app)] : []
                _ = try transaction.pipeline(rest, finishing: true)
            }
        }
    }

    private func deleteRows(of scope: Int64) async throws {
        for table in AppDeletionStatements.scannedTables {
            try await readThrough(table, holding: scope) { pages in
                AppDeletionStatements.deleteRows(of: scope, from: table, pages: pages)
            }
        }
        for table in AppDeletionStatements.indexedTables {
            while try await write({
                try $0.execute(AppDeletionStatements.deleteRows(of: scope, from: table)).affectedRows
            }) > 0 {}
        }
    }

    /// Pages of 8 KiB that a statement reads: 16 MiB, which is quick on any disk.
    private static let pagesOfAStatement = 2048

    /// Runs a statement on one part of a table after the other: no index finds the rows.
    func readThrough(_ table: String, holding scope: Int64, _ statement: (Range<Int>) -> SQL) async throws {
        let end = try await read { session in
            guard session.isDistributed else {
                return try session.execute(AppDeletionStatements.pageCount(of: table))[0].decode(Int.self)
            }
            let (pages, isWhole) = try session.execute(DistributedSizes.pages(of: table, holding: scope))[0]
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
        WITH deleted AS (DELETE FROM apps WHERE bundle_id = \(bundleID.rawValue) RETURNING app_id)
        INSERT INTO deleted_apps (app_id) SELECT deleted.app_id FROM deleted RETURNING app_id
        """
    }

    /// The deleted apps that may still have rows.
    static let unfinished: SQL = "SELECT app_id FROM deleted_apps ORDER BY app_id"

    static func scopes(ofApp id: Int64) -> SQL { "SELECT scope_id FROM scopes WHERE app_id = \(id)" }

    static func deleteKeys(ofApp id: Int64) -> SQL { "DELETE FROM api_keys WHERE app_id = \(id)" }

    /// Waits until no other instance still uses the app and writes its rows: a later sweep looks again.
    static func finish(_ id: Int64) -> SQL {
        "DELETE FROM deleted_apps WHERE app_id = \(id) AND deleted_at <= now() - interval '1 minute'"
    }

    static func deleteScopes(ofApp id: Int64) -> SQL { "DELETE FROM scopes WHERE app_id = \(id)" }

    static let indexedTables = [
        "alias_identities", "installation_tokens", "installation_aliases", "installations",
        "channels", "channel_quotas", "quarantine_guards", "events", "counts",
    ]

    static func deleteRows(of scope: Int64, from table: String) -> SQL {
        """
        DELETE FROM \(unescaped: table) WHERE scope_id = \(scope) AND (tableoid, ctid) IN (
            SELECT tableoid, ctid FROM \(unescaped: table) WHERE scope_id = \(scope) LIMIT 10000
        )
        """
    }

    /// The tables whose keys do not begin with the scope: no index finds all rows of a scope, so they are read once, some
    /// pages at a time.
    static let scannedTables = [
        "activity_aliases", "token_values", "activities", "erasures", "start_leases",
    ]

    static func pageCount(of table: String) -> SQL {
        "SELECT pg_relation_size('\(unescaped: table)') / current_setting('block_size')::int8"
    }

    static func deleteRows(of scope: Int64, from table: String, pages: Range<Int>) -> SQL {
        "DELETE FROM \(unescaped: table) d WHERE d.scope_id = \(scope) AND \(sql: RowPlaces.areOn(pages, "d"))"
    }
}
