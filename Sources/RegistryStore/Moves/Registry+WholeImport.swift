import Foundation
import PostgresDriver
import RegistryCore

/// An import that lay idle for a day, so that a sweep has deleted its rows.
package struct WholeImportIsGone: Error, Sendable {}

extension Registry {
    /// The tables whose rows an app brings, by name.
    package func movedTables() async throws -> [String: MovedTable] {
        try await long { session in
            let tables = try session.execute(MoveStatements.tables).decode(MovedTable.columns)
            return Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0) })
        }
    }

    /// A text that tells this database from all others, and from what it becomes by a dump.
    package func databaseName() async throws -> String {
        try await long { session in
            let (database, _) = try Self.moment(session)
            return "\(database.system)/\(database.oid)/\(database.table)"
        }
    }

    /// Begins to take in an app. Until ``finishWholeImport(of:_:into:numbered:by:)`` nobody sees anything of it.
    ///
    /// - Returns: its number here.
    package func beginWholeImport() async throws -> Int64 {
        try await long { try $0.execute(MoveStatements.reserve)[0].decode(Int64.self) }
    }

    /// Whether an import may go on: what it has added is there for another day.
    package func resumeWholeImport(_ number: Int64) async throws -> Bool {
        try await long { try $0.execute(MoveStatements.keep(number)).affectedRows == 1 }
    }

    /// Leaves the rows that an import has added to the next sweep.
    package func abandonWholeImport(_ number: Int64) async throws {
        _ = try await long { try $0.execute(MoveStatements.abandon(number)).affectedRows }
    }

    /// Adds rows, all or none; those that are there already stay.
    ///
    /// - Throws: ``MovedRowFault`` for the first line that is no row of the table, ``WholeImportIsGone``, `PostgresError`.
    package func add(_ rows: [MovedRow], to table: MovedTable, ofApp number: Int64) async throws {
        try await faults(of: rows) { rows, session in
            try session.transaction { transaction in
                let results = try transaction.pipeline([
                    MoveStatements.keep(number), MoveStatements.strangers(in: rows, of: table),
                    MoveStatements.insertion(rows, into: table, ofApp: number),
                ])
                guard results[0].affectedRows == 1 else { throw WholeImportIsGone() }
                guard try results[1][0].decode(Int.self) == 0 else { throw StrangeRow() }
            }
        }
    }

    /// Reads rows, and writes nothing.
    ///
    /// - Throws: ``MovedRowFault`` for the first line that is no row of the table, as far as that shows without writing it.
    package func check(_ rows: [MovedRow], of table: MovedTable) async throws {
        try await faults(of: rows) { rows, session in
            let results = try session.pipeline([
                MoveStatements.strangers(in: rows, of: table), MoveStatements.reading(rows, of: table),
            ])
            guard try results[0][0].decode(Int.self) == 0 else { throw StrangeRow() }
        }
    }

    /// The number of the first line whose row is not there as it stands in the line; nil when all are.
    ///
    /// - Throws: ``MovedRowFault`` for a line that is no row of the table.
    package func difference(_ rows: [MovedRow], from table: MovedTable, ofApp number: Int64) async throws -> Int? {
        try await check(rows, of: table)
        return try await long { session in
            let place = try session.execute(MoveStatements.difference(rows, from: table, ofApp: number))
                .decode(Int.self).first
            return place.map { rows[$0 - 1].line }
        }
    }

    /// How many rows an app has, by table.
    package func rowCounts(_ tables: [MovedTable], ofApp number: Int64) async throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for table in tables { counts[table.name] = try await count(table, ofApp: number).rows }
        return counts
    }

    /// Lets the app be there with all rows that were added.
    ///
    /// - Parameter row: the app's own row, which has that name.
    /// - Returns: false when somebody else made an app of this name meanwhile.
    /// - Throws: ``MovedRowFault``, ``WholeImportIsGone``, `PostgresError`.
    package func finishWholeImport(
        of bundleID: BundleID,
        _ row: MovedRow,
        tables: [MovedTable],
        numbered number: Int64,
        by who: UTF8Text
    ) async throws -> Bool {
        // From then on others draw numbers for its rows.
        for table in tables { try await raiseNumbers(of: table, above: number) }
        guard let apps = tables.first(where: { $0.name == MovedTable.app }) else { return false }
        do {
            try await faults(of: [row]) { rows, session in
                try session.transaction { transaction in
                    let results = try transaction.pipeline([
                        MoveStatements.strangers(in: rows, of: apps),
                        MoveStatements.insertion(rows[0], into: apps, named: bundleID, number: number),
                        MoveStatements.release(number), EventStatements.aboutApp("app-created", bundleID, by: who),
                    ])
                    guard try results[0][0].decode(Int.self) == 0 else { throw StrangeRow() }
                    guard results[1].affectedRows == 1 else { throw NameIsTaken() }
                    guard results[2].affectedRows == 1 else { throw WholeImportIsGone() }
                }
            }
            return true
        } catch is NameIsTaken {
            return false
        }
    }

    private func raiseNumbers(of table: MovedTable, above app: Int64) async throws {
        guard let sequence = MovedSequence(table), let last = try await count(table, ofApp: app).last else { return }
        guard try await long({ try $0.execute(MoveStatements.isBehind(sequence, last))[0].decode(Bool.self) })
        else { return }
        try await long { session in
            try session.transaction { transaction in
                let steps = [MoveStatements.lock(sequence), MoveStatements.raise(sequence, to: last)]
                _ = try transaction.pipeline(steps, finishing: true)
            }
        }
    }

    private func count(_ table: MovedTable, ofApp app: Int64) async throws -> (rows: Int, last: Int64?) {
        try await long { session in
            let results = try session.pipeline([
                MoveStatements.withoutTimeLimit, MoveStatements.count(table, ofApp: app),
            ])
            let (rows, last) = try results[1][0].decode(Int.self, Int64?.self)
            return (rows: rows, last: last)
        }
    }
}

/// A line has something that its table has not.
private struct StrangeRow: Error {}

/// There is an app of the name.
private struct NameIsTaken: Error {}

extension Registry {
    /// Runs a unit of work of a person's, who has more patience than a caller of the API.
    private func long<Value: Sendable>(
        _ body: @escaping @Sendable (borrowing PostgresSession) throws -> Value
    ) async throws -> Value {
        try await units.pool.withSession(.ifSafe, timeout: .seconds(3600), body)
    }

    /// Does work with rows, which either does all of it or nothing.
    ///
    /// - Throws: ``MovedRowFault`` for the first row with which it cannot be done.
    private func faults(
        of rows: [MovedRow],
        _ work: @escaping @Sendable ([MovedRow], borrowing PostgresSession) throws -> Void
    ) async throws {
        do {
            try await long { try work(rows, $0) }
        } catch {
            guard let reason = MovedRowFault.reason(of: error) else { throw error }
            guard rows.count > 1 else { throw MovedRowFault(line: rows[0].line, reason: reason) }
            for row in rows { try await faults(of: [row], work) }
        }
    }
}

extension MovedRowFault {
    /// The reason for which Postgres takes no row; nil where something else was the matter.
    fileprivate static func reason(of error: any Error) -> String? {
        guard let error = error as? PostgresError else {
            return error is StrangeRow ? "It has a column that its table has not." : nil
        }
        // Appendix A of Postgres's manual: 22 are values of the wrong form, 23 broken constraints, 54 exceeded limits.
        return switch (error.sqlState?.prefix(2), error.constraint) {
        case ("22", _), ("54", _): "It is not JSON, or a value in it is not of its column's form."
        case ("23", let rule?): "It breaks the rule \(rule)."
        case ("23", nil): "A column that must have a value has none."
        default: nil
        }
    }
}
