import Foundation
import RegistryCore
import RegistryStore

/// Where an export is written to, and how far it has come there.
struct ExportTarget {
    /// Where to go on; nil when the export is complete.
    private(set) var position: ExportPosition? = .start
    /// How many records are there.
    private(set) var count = 0
    private let output: Output

    /// Standard output, from the begin.
    init(standardOutputFor scope: Scope) throws(CommandFailure) {
        output = .results
        try output.line(TransferFrame.header(of: scope).jsonLine)
    }

    /// A file that only its owner may read: it holds tokens.
    ///
    /// - Parameter resumes: goes on with what an earlier export left there, if it did.
    /// - Throws: a ``CommandFailure`` when it cannot be opened, is there already, or is no export of the scope.
    init(_ path: String, resumes: Bool, for scope: Scope) throws(CommandFailure) {
        let descriptor = try ExportFile.open(
            path,
            mayBeThere: resumes,
            otherwise: "Add --resume to go on with it, or remove it."
        )
        output = Output(descriptor: descriptor)
        do throws(CommandFailure) {
            try begin(descriptor, path, scope)
        } catch {
            Foundation.close(descriptor)
            throw error
        }
    }

    /// Cuts off what is behind the last checkpoint, and writes the header of a new export.
    private mutating func begin(_ descriptor: Int32, _ path: String, _ scope: Scope) throws(CommandFailure) {
        let end = try find(in: LineReader(descriptor), path, scope)
        // Also where it was there with other rights; what is no export keeps its own.
        guard fchmod(descriptor, 0o600) == 0 else { throw ExportFile.failure(path, errno) }
        guard ftruncate(descriptor, off_t(end)) == 0, lseek(descriptor, off_t(end), SEEK_SET) == end else {
            throw ExportFile.failure(path, errno)
        }
        if end == 0 { try output.line(TransferFrame.header(of: scope).jsonLine) }
    }

    /// Writes a page: its records, and where to go on, at once.
    mutating func add(_ page: ExportPage) throws(CommandFailure) {
        var json = JSONWriter(reservingCapacity: 512 * page.records.count)
        for record in page.records {
            json.value(record)
            json.newline()
        }
        count += page.records.count
        json.value(page.next.map { TransferFrame.checkpoint($0, count: count) } ?? .end(count: count))
        json.newline()
        try output.write(json.bytes)
        position = page.next
    }

    /// Sees to it that a file is on disk, and closes it.
    ///
    /// - Throws: a ``CommandFailure`` when the disk does not take it.
    func close() throws(CommandFailure) {
        try ExportFile.close(output)
    }

    /// Reads what is there.
    ///
    /// - Returns: where the last checkpoint ends, in bytes; what follows it is written anew.
    private mutating func find(in lines: LineReader, _ path: String, _ scope: Scope) throws(CommandFailure) -> Int {
        var (lines, end) = (lines, 0)
        while let line = try lines.next() {
            guard line.isWhole, let text = line.text, let frame = Self.frame(text) else {
                guard lines.number > 1 else { throw Self.noExport(path, scope) }
                continue
            }
            switch frame {
            case .checkpoint(let position, let count): (self.position, self.count) = (position, count)
            case .end(let count): (position, self.count) = (nil, count)
            case .header: guard frame == .header(of: scope) else { throw Self.noExport(path, scope) }
            }
            end = lines.offset
        }
        return end
    }

    private static func frame(_ line: [UInt8]) -> TransferFrame? {
        guard TransferFrame.mayBegin(line) else { return nil }
        return (try? JSONParser.parse(line)).flatMap(TransferFrame.init)
    }

    private static func noExport(_ path: String, _ scope: Scope) -> CommandFailure {
        CommandFailure(
            .usage,
            "\(path) is no export of \(scope.app.bundleID) in \(scope.environment.rawValue), so it is left as it is."
        )
    }
}
