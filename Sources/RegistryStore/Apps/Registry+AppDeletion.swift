import Logging
import PostgresDriver
import RegistryCore

extension Registry {
    /// Deletes the app and all that belongs to it. From the first moment on it is unknown; its rows follow, in small
    /// transactions. What is left when that is interrupted a sweep deletes: see ``finishDeletions()``.
    ///
    /// - Returns: false when there is no such app.
    public func deleteApp(_ bundleID: BundleID, by who: UTF8Text) async throws -> Bool {
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
    public func finishDeletions() async throws -> Int {
        let unfinished = try await read { session in
            try session.execute(AppDeletionStatements.unfinished).decode(Int64.self)
        }
        for app in unfinished { try await deleteRows(of: app) }
        return unfinished.count
    }

    private func deleteRows(of app: Int64) async throws {
        // One who had seen the app may write its rows still.
        try await waitForWriters()
        for table in AppDeletionStatements.scannedTables { try await deleteRows(of: app, readingThrough: table) }
        for table in AppDeletionStatements.indexedTables {
            while try await write({
                try $0.execute(AppDeletionStatements.deleteRows(of: app, from: table)).affectedRows
            }) > 0 {}
        }
        _ = try await write { try $0.execute(AppDeletionStatements.finish(app)).affectedRows }
    }

    /// Pages of 8 KiB that a statement reads: 16 MiB, which is quick on any disk.
    private static let pagesOfAStatement = 2048

    private func deleteRows(of app: Int64, readingThrough table: String) async throws {
        let end = try await read { session in
            try session.execute(AppDeletionStatements.pageCount(of: table))[0].decode(Int.self)
        }
        for first in stride(from: 0, to: end, by: Self.pagesOfAStatement) {
            let statement = AppDeletionStatements.deleteRows(
                of: app,
                from: table,
                pages: first..<first + Self.pagesOfAStatement
            )
            _ = try await write { try $0.execute(statement).affectedRows }
        }
    }
}
