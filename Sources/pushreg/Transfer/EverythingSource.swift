import Foundation
import RegistryCore
import RegistryStore

/// The source of an app's rows: a file of `pushreg export --everything`, read in bounded memory.
struct EverythingSource {
    /// Rows of one table, that stand one after the other.
    struct Chunk {
        let table: MovedTable
        var rows: [MovedRow]
    }

    /// The rows that are added at once, and the bytes from which on there are no more.
    private static let chunkSize = (rows: 1000, bytes: 1024 * 1024)
    /// The longest line: what an app's settings may be, and more than that.
    private static let maximumLine = 1024 * 1024

    /// The app that it is an export of.
    let app: BundleID
    /// The app's own row, once it was read.
    private(set) var appRow: MovedRow?
    /// How many rows of each table it says that there are, once its last line was read.
    private(set) var end: [String: Int]?
    /// All lines up to here are in the chunks so far: their number, and where the next one begins.
    private(set) var done: (line: Int, offset: Int)
    private let descriptor: Int32
    private let tables: [String: MovedTable]
    private var lines: LineReader
    /// A line of another table than the chunk before it.
    private var next: Row?

    private struct Row {
        let table: MovedTable
        let row: MovedRow
        /// Where the next line begins.
        let after: Int
    }

    /// - Throws: a ``CommandFailure`` when the file cannot be read, or is no export of everything.
    init(_ path: String, tables: [String: MovedTable]) throws(CommandFailure) {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ImportSource.failure(path, errno) }
        (self.descriptor, self.tables) = (descriptor, tables)
        lines = LineReader(descriptor, maximumLine: Self.maximumLine)
        do throws(CommandFailure) {
            app = try Self.app(of: try lines.next())
        } catch {
            if path != "-" { Foundation.close(descriptor) }
            throw error
        }
        done = (lines.number, lines.offset)
    }

    private static func app(of line: LineReader.Line?) throws(CommandFailure) -> BundleID {
        guard let json = line?.text.flatMap({ try? JSONParser.parse($0) }) else { throw noExport }
        if case .header(let app, let environment, _)? = TransferFrame(json) {
            throw CommandFailure(
                .usage,
                "line 1: This is an export of \(app) in \(environment) alone. Leave out --everything, and name the two."
            )
        }
        guard case .header(let name, let schema)? = EverythingFrame(json), let app = try? BundleID(name) else {
            throw noExport
        }
        guard schema == SchemaMigrator.currentVersion else {
            throw CommandFailure(
                .usage,
                """
                line 1: The export is of version \(schema) of the schema, and this program has version \
                \(SchemaMigrator.currentVersion). Bring both registries to one version of pushreg, and export anew.
                """
            )
        }
        return app
    }

    private static let noExport = CommandFailure(
        .usage,
        "line 1: This does not begin as an export of everything does: pushreg export --everything BUNDLE_ID"
    )

    /// Goes on behind the lines that an earlier import did.
    ///
    /// - Returns: false where that cannot be; then it stays where it is.
    mutating func goOn(line: Int, offset: Int) -> Bool {
        guard lseek(descriptor, off_t(offset), SEEK_SET) == offset else { return false }
        lines = LineReader(descriptor, offset: offset, number: line, maximumLine: Self.maximumLine)
        done = (line, offset)
        return true
    }

    /// Closes the file.
    func close() {
        if descriptor != STDIN_FILENO { Foundation.close(descriptor) }
    }

    /// The next rows; nil at the end of the file.
    ///
    /// - Throws: a ``CommandFailure`` that names the line which is no row.
    mutating func nextChunk() throws(CommandFailure) -> Chunk? {
        var chunk: Chunk?
        var bytes = 0
        while bytes < Self.chunkSize.bytes, chunk.map({ $0.rows.count < Self.chunkSize.rows }) ?? true {
            if next == nil { next = try nextRow() }
            guard let row = next else { break }
            guard chunk.map({ $0.table == row.table }) ?? true else { return chunk }
            next = nil
            chunk = chunk ?? Chunk(table: row.table, rows: [])
            chunk?.rows.append(row.row)
            bytes += row.row.json.utf8.count
            done = (row.row.line, row.after)
        }
        return chunk
    }

    /// The next line that is a row of another table than the app's own.
    private mutating func nextRow() throws(CommandFailure) -> Row? {
        while let line = try lines.next() {
            guard let text = line.text else { throw fault("It is longer than \(Self.maximumLine / 1024) KiB.") }
            if text.allSatisfy(ASCII.isBlank) { continue }
            guard end == nil else { throw fault("It stands behind the last line of the export.") }
            if TransferFrame.mayBegin(text), let json = try? JSONParser.parse(text),
                case .end(let rows)? = EverythingFrame(json)
            {
                end = rows
                continue
            }
            guard let json = String(validating: text, as: UTF8.self) else { throw fault("It is not UTF-8.") }
            guard let table = Self.table(of: text).flatMap({ tables[$0] }) else {
                throw fault("It is no row of a table that moves with an app.")
            }
            let row = MovedRow(line: lines.number, json: json)
            guard table.name == MovedTable.app else { return Row(table: table, row: row, after: lines.offset) }
            guard appRow == nil else { throw fault("The app has a line already.") }
            appRow = row
        }
        return nil
    }

    /// The name between the quotes that a row begins with.
    private static func table(of line: [UInt8]) -> String? {
        guard line.starts(with: Array("{\"".utf8)) else { return nil }
        let name = line.dropFirst(2).prefix(64).prefix { $0 != UInt8(ascii: "\"") }
        return String(decoding: name, as: UTF8.self)
    }

    private func fault(_ reason: String) -> CommandFailure {
        CommandFailure(.failed, "line \(lines.number): \(reason)")
    }
}
