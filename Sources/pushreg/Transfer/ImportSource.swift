import Foundation
import RegistryCore
import RegistryStore

/// The source of an import's lines, and how far the import has come in it.
struct ImportSource {
    /// A line that is a record, or should be.
    struct Line: Sendable {
        let number: Int
        /// Nil when it is too long.
        let text: [UInt8]?
    }

    /// How many lines are under way at once; as many may be done again after an interruption.
    private static let chunkSize = 1000

    private let scope: Scope
    private let path: String
    /// The file, open; nil for standard input, which is not ours to close.
    private let descriptor: Int32?
    private var lines: LineReader
    /// Nil where there is no file to keep it beside.
    private var progress: ImportProgress?
    private var isFile = false
    /// It began as an export does and has not ended as one does.
    private var lacksEnd = false
    /// How many lines an earlier import did.
    private(set) var linesBefore = 0
    /// How many of those were no records.
    private(set) var faultyBefore = 0

    private var place: String { ImportProgress.place(beside: path) }

    /// - Parameters:
    ///   - path: a file, or `-` for standard input.
    ///   - restarts: begins anew, whatever an earlier import did.
    /// - Throws: a ``CommandFailure`` when it cannot be read, or is an export of something else.
    init(_ path: String, restarts: Bool, for scope: Scope) throws(CommandFailure) {
        (self.path, self.scope) = (path, scope)
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
            try goOn(in: descriptor, restarts: restarts)
        } catch {
            close()
            throw error
        }
    }

    /// Goes on where an earlier import of the file was interrupted, if one was.
    private mutating func goOn(in descriptor: Int32, restarts: Bool) throws(CommandFailure) {
        // A pipe cannot be read again.
        guard let subject = ImportProgress.Subject(scope, Self.target(of: path)) else { return }
        let kept = restarts ? nil : ImportProgress(at: place, about: subject)
        progress = kept ?? ImportProgress(subject: subject)
        isFile = true
        guard let kept else { return }
        // Its first line says whether it needs a last one.
        if let text = try lines.next()?.text { _ = try isFrame(text) }
        guard lseek(descriptor, off_t(kept.offset), SEEK_SET) == kept.offset else { throw Self.failure(path, errno) }
        lines = LineReader(descriptor, offset: kept.offset, number: kept.line)
        (linesBefore, faultyBefore) = (kept.line, kept.faulty)
    }

    /// How much of the file was read, 0 to 1; nil where nobody knows.
    var fraction: Double? { progress.map { Double(lines.offset) / Double(max($0.subject.size, 1)) } }

    /// The number of the last line that was read.
    var lineNumber: Int { lines.number }

    /// The next lines; none at the end.
    mutating func next() throws(CommandFailure) -> [Line] {
        var chunk: [Line] = []
        while chunk.count < Self.chunkSize, let line = try lines.next() {
            if let text = line.text {
                if text.allSatisfy(ASCII.isBlank) { continue }
                if try isFrame(text) { continue }
            }
            chunk.append(Line(number: lines.number, text: line.text))
        }
        return chunk
    }

    /// All lines that were read are done.
    ///
    /// - Parameter faulty: how many of those that this import did are no records.
    mutating func settle(faulty: Int) {
        guard var settled = progress else { return }
        (settled.line, settled.offset, settled.faulty) = (lines.number, lines.offset, faultyBefore + faulty)
        // Where it cannot be kept, an interrupted import begins anew, which costs but time.
        progress = settled.keep(at: place) ? settled : nil
    }

    /// All is done.
    ///
    /// - Throws: a ``CommandFailure`` when the end of an export is missing.
    func finish() throws(CommandFailure) {
        if isFile { unlink(place) }
        guard !lacksEnd else {
            throw CommandFailure(.failed, "The file is incomplete: its export was interrupted. All of it is imported.")
        }
    }

    /// Closes the file.
    func close() {
        if let descriptor { Foundation.close(descriptor) }
    }

    /// Whether a line is none of the records; frames are few, and begin like one.
    ///
    /// - Throws: a ``CommandFailure`` when it says that this is an export of something else.
    private mutating func isFrame(_ text: [UInt8]) throws(CommandFailure) -> Bool {
        guard TransferFrame.mayBegin(text), let json = try? JSONParser.parse(text), let frame = TransferFrame(json)
        else {
            return false
        }
        switch frame {
        case .checkpoint: break
        case .end: lacksEnd = false
        case .header(let app, let environment, let version):
            let expected = (scope.app.bundleID.rawValue, scope.environment.rawValue)
            guard (app, environment) == expected else {
                throw CommandFailure(.usage, "This is an export of \(app) in \(environment), and goes nowhere else.")
            }
            guard version == TransferFrame.version else {
                throw CommandFailure(.usage, "The export is of version \(version). Use a newer pushreg.")
            }
            lacksEnd = true
        }
        return true
    }

    private static func target(of path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }

    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        CommandFailure(
            code == EACCES ? .notPermitted : .usage,
            "\(path) could not be read: \(String(cString: strerror(code)))."
        )
    }
}
