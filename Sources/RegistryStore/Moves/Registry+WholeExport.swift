import PostgresDriver
import RegistryCore

extension Registry {
    /// As long as a day, for an app with very many rows and somebody who reads slowly.
    private static let exportTime = Duration.seconds(24 * 60 * 60)

    /// Reads all rows of an app, as they were at one moment, table by table, and its own row last.
    ///
    /// One snapshot is open until the last row is read: tables name one another's rows, so pages of several moments would not
    /// fit together.
    ///
    /// - Parameters:
    ///   - target: where the rows are written to.
    ///   - write: writes up to 1000 rows of a table, each as one object of JSON. It runs on the connection's thread; what it
    ///     throws ends the export.
    /// - Returns: the target, nil when there is no such app.
    /// - Throws: `PostgresError`, and what `write` throws.
    package func exportWhole<Target: Sendable>(
        _ bundleID: BundleID,
        into target: Target,
        _ write: @escaping @Sendable (inout Target, MovedTable, [[UInt8]]) throws -> Void
    ) async throws -> Target? {
        try await units.pool.withSession(.never, timeout: Self.exportTime) { session in
            try session.transaction { transaction in
                _ = try transaction.pipeline(MoveStatements.oneMoment)
                guard let app = try transaction.execute(MoveStatements.number(of: bundleID)).decode(Int64.self).first
                else { return nil }
                let tables = try transaction.execute(MoveStatements.tables).decode(MovedTable.columns)
                var target = target
                for table in tables.inOrder {
                    _ = try transaction.execute(MoveStatements.rows(of: table, ofApp: app))
                    while case let page = try transaction.execute(MoveStatements.nextRows), !page.isEmpty {
                        try write(&target, table, page.decode(JSONB.self).map(\.bytes))
                    }
                    _ = try transaction.execute(MoveStatements.closeRows)
                }
                return target
            }
        }
    }
}

extension [MovedTable] {
    /// In the order of ``MovedTable/names``.
    fileprivate var inOrder: [MovedTable] {
        MovedTable.names.compactMap { name in first { $0.name == name } }
    }
}
