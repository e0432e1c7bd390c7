import Foundation
import RegistryCore
import RegistryStore

/// The export of an app whole, for another registry to take its place.
struct EverythingExport {
    let app: BundleID
    /// The file; standard output where there is none.
    let path: String?
    /// Whether to say in JSON what was exported.
    let json: Bool

    func run(_ registry: Registry) async throws {
        let target = try EverythingTarget(path, of: app)
        let moved: MovedApp
        do {
            try target.begin()
            guard let written = try await registry.exportWhole(app, into: target, { try $0.add($2, of: $1) }) else {
                throw CommandFailure.noApp(app)
            }
            moved = try written.finish()
        } catch {
            target.discard()
            throw error
        }
        if json, path != nil { try Output.results.line(moved.jsonLine) }
        Output.errors.note("Exported \(app) whole, \(moved.sentence).")
    }
}

/// Where an app's rows are written to.
private struct EverythingTarget: Sendable {
    private let app: String
    private let path: String?
    private let output: Output
    private var rows: [String: Int] = [:]
    private var count = 0
    private var bar = ProgressBar()

    /// Makes a file that only its owner may read: it holds tokens, and the digests of keys.
    init(_ path: String?, of app: BundleID) throws(CommandFailure) {
        (self.app, self.path) = (app.rawValue, path)
        guard let path else {
            output = .results
            return
        }
        let remedy = "An export of everything is of one moment and begins anew: remove the file, or name another."
        output = Output(descriptor: try ExportFile.open(path, mayBeThere: false, otherwise: remedy))
    }

    /// Writes the first line.
    func begin() throws(CommandFailure) {
        try output.line(EverythingFrame.header(app: app, schema: SchemaMigrator.currentVersion).jsonLine)
    }

    mutating func add(_ page: [[UInt8]], of table: MovedTable) throws(CommandFailure) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(page.reduce(0) { $0 + $1.count + 32 })
        let begin = Array("{\"\(table.name)\":".utf8)
        for row in page {
            bytes += begin
            bytes += row
            bytes += [UInt8(ascii: "}"), UInt8(ascii: "\n")]
        }
        try output.write(bytes)
        rows[table.name, default: 0] += page.count
        count += page.count
        bar.show(table.name, nil, count: count)
    }

    /// Writes the last line, and keeps the file.
    func finish() throws(CommandFailure) -> MovedApp {
        var bar = bar
        bar.clear()
        try output.line(EverythingFrame.end(rows: rows).jsonLine)
        try ExportFile.close(output)
        return MovedApp(app: app, rows: rows)
    }

    /// Removes what is not whole.
    func discard() {
        if let path { unlink(path) }
    }
}
