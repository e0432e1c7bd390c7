import Foundation
import RegistryCore
import RegistryStore

struct ImportSource {
    /// Lines in flight. An interrupted import can repeat up to this many.
    private static let chunkSize = 1000

    private let scope: Scope
    private let path: String
    private let isDry: Bool
    /// Nil for standard input, which must stay open.
    private let descriptor: Int32?
    private(set) var lines: LineReader
    /// Nil if the input is not a regular file.
    private var progress: ImportProgress?
    private var progressPath: String?
    /// The input has an export's header and, so far, no end.
    private var lacksEnd = false
    /// The end of the last record. A resumed import reads later lines again, such as the end of an export.
    private var done = (line: 0, offset: 0)
    private(set) var linesBefore = 0
    private(set) var faultyBefore = 0

    /// - Parameters:
    ///   - restarts: Ignores the progress of an earlier import.
    ///   - isDry: Reads everything and stores no progress.
    init(_ path: String, restarts: Bool, isDry: Bool, for scope: Scope) throws(CommandFailure) {
        (self.path, self.isDry, self.scope) = (path, isDry, scope)
        guard path != "-" else {
            self.descriptor = nil
            lines = LineReader(STDIN_FILENO)
            return
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(path, errno) }
        self.descriptor = descriptor
        lines = LineReader(descriptor)
        do throws(CommandFailure) {
            if !isDry { try goOn(in: descriptor, restarts: restarts) }
        } catch {
            Foundation.close(descriptor)
            throw error
        }
    }

    private mutating func goOn(in descriptor: Int32, restarts: Bool) throws(CommandFailure) {
        // A pipe cannot be read again.
        guard let beginning = ImportProgress(scope, path) else { return }
        let place = path + ".imported"
        let stored = try beginning.stored(at: place) ?? beginning
        let start = restarts ? beginning : stored
        (progress, progressPath) = (start, place)
        // The header indicates whether the file needs an end.
        if let text = try lines.next()?.text { _ = try isFrame(text) }
        guard lseek(descriptor, off_t(start.offset), SEEK_SET) == start.offset else { throw Self.failure(path, errno) }
        lines = LineReader(descriptor, offset: start.offset, number: start.line)
        (linesBefore, faultyBefore, done) = (start.line, start.faulty, (start.line, start.offset))
    }

    var fraction: Double? { progress.map { Double(lines.offset) / Double(max($0.size, 1)) } }

    mutating func next() throws(CommandFailure) -> [ImportedLine] {
        var chunk: [ImportedLine] = []
        while chunk.count < Self.chunkSize, let line = try nextLine() {
            chunk.append(line)
            done = (lines.number, lines.offset)
        }
        return chunk
    }

    /// Skips blank lines and frames.
    private mutating func nextLine() throws(CommandFailure) -> ImportedLine? {
        while let line = try lines.next() {
            if let text = line.text {
                if text.allSatisfy(ASCII.isBlank) { continue }
                if try isFrame(text) { continue }
            }
            return ImportedLine(number: lines.number, text: line.text)
        }
        return nil
    }

    /// Marks all lines read so far as done. `faulty` counts the malformed lines of this run.
    mutating func settle(faulty: Int) {
        guard var settled = progress, let progressPath else { return }
        (settled.line, settled.offset, settled.faulty) = (done.line, done.offset, faultyBefore + faulty)
        // Without stored progress, an interrupted import starts again, which only costs time.
        progress = settled.write(to: progressPath) ? settled : nil
    }

    /// Removes the progress file. An error if an export has no end.
    func finish() throws(CommandFailure) {
        if let progressPath { unlink(progressPath) }
        guard !lacksEnd else {
            let rest = isDry ? "" : " All its lines were read."
            throw CommandFailure(.failed, "The file is incomplete: its export was interrupted.\(rest)")
        }
    }

    func close() { if let descriptor { Foundation.close(descriptor) } }

    /// An error if the header names another scope.
    private mutating func isFrame(_ text: [UInt8]) throws(CommandFailure) -> Bool {
        guard let frame = TransferFrame(text) else { return false }
        switch frame {
        case .end: lacksEnd = false
        case .header(let app, let environment, let version):
            let expected = (scope.app.bundleID.rawValue, scope.environment.rawValue)
            guard (app, environment) == expected else {
                throw CommandFailure(.usage, "This is an export of \(app) in \(environment). Import it there.")
            }
            guard version == TransferFrame.version else {
                throw CommandFailure(.usage, "The export has version \(version). Use a newer pushreg.")
            }
            lacksEnd = true
        }
        return true
    }

    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        CommandFailure(
            code == EACCES ? .notPermitted : .usage,
            "\(path) could not be read: \(String(cString: strerror(code)))."
        )
    }
}

/// The progress of an interrupted import, in a file next to the imported file.
struct ImportProgress: Codable, Equatable {
    /// The app and environment, with the app's id and creation time, which differ between databases.
    let scope: String
    /// The size of the imported file, in bytes.
    let size: Int
    /// When that file was changed, in microseconds since 2001-01-01 (Foundation's reference date).
    let modified: Int
    /// All earlier lines are done: their number, and the byte position of the next one.
    var line = 0
    var offset = 0
    /// How many of these lines were malformed.
    var faulty = 0

    /// Nil unless the path is a regular file. Others cannot be read again.
    init?(_ scope: Scope, _ path: String) {
        let place = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: place),
            attributes[.type] as? FileAttributeType == .typeRegular, let size = attributes[.size] as? Int,
            let modified = attributes[.modificationDate] as? Date
        else { return nil }
        let createdAt = RFC3339.format(scope.app.createdAt, precision: .microseconds)
        self.scope = "\(scope.app.bundleID)/\(scope.environment.rawValue)/\(scope.app.id)/\(createdAt)"
        self.size = size
        self.modified = Int(modified.timeIntervalSinceReferenceDate * 1_000_000)
    }

    /// The stored progress of the same import, of which this is the beginning.
    ///
    /// - Throws: A ``CommandFailure`` if another file has this name, because it must not be overwritten.
    func stored(at path: String) throws(CommandFailure) -> ImportProgress? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let data = FileManager.default.contents(atPath: path),
            let stored = try? JSONDecoder().decode(ImportProgress.self, from: data)
        else {
            throw CommandFailure(
                .usage,
                "\(path) exists and is not the progress of an import. Move it, because an import keeps its progress there."
            )
        }
        var beginning = stored
        (beginning.line, beginning.offset, beginning.faulty) = (0, 0, 0)
        return beginning == self ? stored : nil
    }

    /// Writes atomically.
    ///
    /// - Returns: False if the write failed. An interrupted import then starts again.
    func write(to path: String) -> Bool {
        (try? JSONEncoder().encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)) != nil
    }
}
