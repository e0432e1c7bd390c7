import Foundation
import RegistryCore
import RegistryStore

/// The import of an app whole, from a file of `pushreg export --everything`.
///
/// Nobody sees anything of the app before all of it is there: its own row, without which no key and no path leads to the
/// others, is written last.
struct EverythingImport {
    /// The file, or `-`.
    let path: String
    let isDry: Bool
    /// Begins anew, also where an interrupted import could go on.
    let restarts: Bool
    /// Whether to say in JSON what was imported.
    let json: Bool
    let registry: Registry

    func run() async throws {
        let place = isDry || path == "-" ? nil : try ProgressFile(beside: path)
        let tables = try await registry.movedTables()
        var source = try EverythingSource(path, tables: tables)
        defer { source.close() }
        do {
            if isDry {
                try await read(&source)
            } else if let app = try await registry.app(source.app) {
                try await compare(&source, with: app, Array(tables.values))
                place?.remove()
            } else {
                try await take(&source, Array(tables.values), place)
                place?.remove()
            }
        } catch let fault as MovedRowFault {
            throw CommandFailure(.failed, "line \(fault.line): \(fault.reason)\(isDry ? "" : Self.nothing)")
        } catch is WholeImportIsGone {
            throw CommandFailure(
                .failed,
                "The import lay idle for a day, so what it had done was deleted. Run the same command again."
            )
        }
    }

    private static let nothing = " Nothing of the app is there yet."

    // MARK: Taking in

    private func take(
        _ source: inout EverythingSource,
        _ tables: [MovedTable],
        _ place: ProgressFile?
    ) async throws {
        var progress = try await begin(&source, place)
        var bar = ProgressBar(countAtStart: progress.line)
        defer { bar.clear() }
        while let chunk = try source.nextChunk() {
            try await registry.add(chunk.rows, to: chunk.table, ofApp: progress.number)
            (progress.line, progress.offset) = source.done
            // Where it cannot be kept, an interrupted import begins anew, which costs but time.
            _ = place?.keep(progress)
            let fraction = Double(progress.offset) / Double(max(progress.file.size, 1))
            bar.show(chunk.table.name, path == "-" ? nil : fraction, count: progress.line)
        }
        bar.clear()
        let (row, rows) = try whole(source)
        try await count(rows, tables, of: progress.number, "\(Self.nothing) Begin anew with --restart.")
        // Where it fails, the first requests are but slower.
        try? await registry.analyzeTables()
        let isNew = try await registry.finishWholeImport(
            of: source.app,
            row,
            tables: tables,
            numbered: progress.number,
            by: Apps.who
        )
        guard isNew else {
            throw CommandFailure(
                .failed,
                "line \(row.line): The app is not \(source.app), or somebody made that one meanwhile.\(Self.nothing)"
            )
        }
        try report("Imported \(source.app) whole", source, rows)
    }

    /// Goes on where an earlier import of the file was interrupted, if one was.
    private func begin(_ source: inout EverythingSource, _ place: ProgressFile?) async throws -> EverythingProgress {
        let database = try await registry.databaseName()
        let file = path == "-" ? nil : FileState(path)
        if let place, let kept = EverythingProgress(at: place.path), kept.database == database {
            if !restarts, kept.file == file, try await registry.resumeWholeImport(kept.number),
                source.goOn(line: kept.line, offset: kept.offset)
            {
                Output.errors.note("Going on after line \(kept.line).")
                return kept
            }
            try await registry.abandonWholeImport(kept.number)
        }
        return EverythingProgress(
            database: database,
            file: file ?? FileState(size: 0, modified: 0),
            number: try await registry.beginWholeImport()
        )
    }

    // MARK: Comparing

    /// An app that is there already must be what the file says, for instance because this command is repeated.
    private func compare(_ source: inout EverythingSource, with app: App, _ tables: [MovedTable]) async throws {
        let remedy = """
            Either it was imported and is in use since, or it is another one: then delete it first (pushreg apps delete \
            \(app.bundleID)). Nothing was written.
            """
        func check(_ rows: [MovedRow], _ table: MovedTable) async throws {
            guard let line = try await registry.difference(rows, from: table, ofApp: app.number) else { return }
            throw CommandFailure(
                .failed,
                "line \(line): \(app.bundleID) is there already, and has another row of \(table.name). \(remedy)"
            )
        }
        while let chunk = try source.nextChunk() { try await check(chunk.rows, chunk.table) }
        let (row, rows) = try whole(source)
        for table in tables where table.name == MovedTable.app { try await check([row], table) }
        try await count(rows, tables, of: app.number, "\(app.bundleID) is there already. \(remedy)")
        try report("\(app.bundleID) is there already as the file has it; nothing was written", source, rows)
    }

    private func read(_ source: inout EverythingSource) async throws {
        var rows: [String: Int] = [:]
        while let chunk = try source.nextChunk() {
            try await registry.check(chunk.rows, of: chunk.table)
            rows[chunk.table.name, default: 0] += chunk.rows.count
        }
        let end = try whole(source).rows
        rows[MovedTable.app] = end[MovedTable.app]
        try compare(rows, with: end, "Nothing was written.")
        try report("Read \(source.app) whole, and wrote nothing", source, rows)
    }

    // MARK: The whole

    /// The app's own row, and how many rows there are of each table.
    ///
    /// - Throws: a ``CommandFailure`` when the end of the file is missing.
    private func whole(_ source: EverythingSource) throws(CommandFailure) -> (row: MovedRow, rows: [String: Int]) {
        guard let row = source.appRow, let rows = source.end else {
            throw CommandFailure(
                .failed,
                "The file is incomplete: its export was interrupted, so export anew.\(isDry ? "" : Self.nothing)"
            )
        }
        return (row, rows)
    }

    /// - Throws: a ``CommandFailure`` when a table has another number of rows than the file says.
    private func count(
        _ rows: [String: Int],
        _ tables: [MovedTable],
        of app: Int64,
        _ consequence: String
    ) async throws {
        try compare(await registry.rowCounts(tables, ofApp: app), with: rows, consequence)
    }

    private func compare(_ found: [String: Int], with rows: [String: Int], _ consequence: String) throws(CommandFailure)
    {
        for (table, count) in found.sorted(by: { $0.key < $1.key }) where table != MovedTable.app {
            guard count != rows[table] ?? 0 else { continue }
            throw CommandFailure(
                .failed,
                """
                There are \(count) rows of \(table), and by the file's last line there should be \(rows[table] ?? 0). \
                \(consequence)
                """
            )
        }
    }

    private func report(_ words: String, _ source: EverythingSource, _ rows: [String: Int]) throws {
        let moved = MovedApp(app: source.app.rawValue, rows: rows)
        if json { try Output.results.line(moved.jsonLine) }
        Output.errors.note("\(words), \(moved.sentence).")
    }
}
