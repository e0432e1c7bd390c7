import Foundation
import RegistryCore
import RegistryStore

/// The source of an import's lines, and how far the import has come in it.
struct ImportSource {
    /// How many lines are under way at once; as many may be done again after an interruption.
    private static let chunkSize = 1000

    private let scope: Scope
    private let path: String
    private let isDry: Bool
    /// The file, open; nil for standard input, which is not ours to close.
    private let descriptor: Int32?
    private var lines: LineReader
    /// Nil where there is no file to keep it beside.
    private var progress: ImportProgress?
    private var progressFile: ProgressFile?
    /// It began as an export does and has not ended as one does.
    private var lacksEnd = false
    /// Where the last record ends. What follows it, as the end of an export, is read again after an interruption.
    private var done = (line: 0, offset: 0)
    /// How many lines an earlier import did.
    private(set) var linesBefore = 0
    /// How many of those were no records.
    private(set) var faultyBefore = 0

    /// - Parameters:
    ///   - path: a file, or `-` for standard input.
    ///   - restarts: begins anew, whatever an earlier import did.
    ///   - isDry: reads all of it, and keeps no progress.
    /// - Throws: a ``CommandFailure`` when it cannot be read, or is an export of something else.
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

    /// Goes on where an earlier import of the file was interrupted, if one was.
    private mutating func goOn(in descriptor: Int32, restarts: Bool) throws(CommandFailure) {
        // A pipe cannot be read again.
        guard let subject = ImportProgress.Subject(scope, path) else { return }
        let place = try ProgressFile(beside: path)
        let kept = restarts ? nil : ImportProgress(at: place.path, about: subject)
        progress = kept ?? ImportProgress(subject: subject)
        progressFile = place
        guard let kept else { return }
        // Its first line says whether it needs a last one.
        if let text = try lines.next()?.text { _ = try isFrame(text) }
        guard lseek(descriptor, off_t(kept.offset), SEEK_SET) == kept.offset else { throw Self.failure(path, errno) }
        lines = LineReader(descriptor, offset: kept.offset, number: kept.line)
        (linesBefore, faultyBefore, done) = (kept.line, kept.faulty, (kept.line, kept.offset))
    }

    /// How much of the file was read, 0 to 1; nil where nobody knows.
    var fraction: Double? { progress.map { Double(lines.offset) / Double(max($0.subject.size, 1)) } }

    /// The number of the last line that was read.
    var lineNumber: Int { lines.number }

    /// The next lines; none at the end.
    mutating func next() throws(CommandFailure) -> [ImportedLine] {
        var chunk: [ImportedLine] = []
        while chunk.count < Self.chunkSize, let line = try nextLine() {
            chunk.append(line)
            done = (lines.number, lines.offset)
        }
        return chunk
    }

    /// The next line that is neither blank nor a frame.
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

    /// All lines that were read are done.
    ///
    /// - Parameter faulty: how many of those that this import did are no records.
    mutating func settle(faulty: Int) {
        guard var settled = progress else { return }
        (settled.line, settled.offset, settled.faulty) = (done.line, done.offset, faultyBefore + faulty)
        // Where it cannot be kept, an interrupted import begins anew, which costs but time.
        progress = progressFile?.keep(settled) == true ? settled : nil
    }

    /// All is done.
    ///
    /// - Throws: a ``CommandFailure`` when the end of an export is missing.
    func finish() throws(CommandFailure) {
        progressFile?.remove()
        guard !lacksEnd else {
            let rest = isDry ? "" : " Its lines were read to the end."
            throw CommandFailure(.failed, "The file is incomplete: its export was interrupted.\(rest)")
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
        else { return false }
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

    /// Says why a file could not be read.
    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        CommandFailure(
            code == EACCES ? .notPermitted : .usage,
            "\(path) could not be read: \(String(cString: strerror(code)))."
        )
    }
}
